"""Moving pictures: episodes as GIFs, things followed from frame to frame."""
