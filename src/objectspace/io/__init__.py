"""Files, images, what people mean by paths, and progress: what every room may use."""
