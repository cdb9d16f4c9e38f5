"""The parts of report.html: pictures, overlays, charts, one section an image, the summary; and the style and script."""
