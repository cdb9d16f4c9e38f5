"""What the paper claims, in our words, each with the section that says it, and how it is judged here.

What "similar" or "accurately" means is ours: the marks are printed beside every verdict. AP and counts are by the
published rule where the paper's own numbers are; recalls and masks are by our rule.
"""

SMALL, LARGE = "rooms-small", "rooms-large"
GAMES = ("spaceinvaders", "airraid", "riverraid")
QUALITATIVE, QUANTITATIVE = "4.1 Qualitative comparison", "4.2 Quantitative comparison"
AP50, COUNT = "published_ap50", "published_count_error"
