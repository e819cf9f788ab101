"""Panels: each stands alone in a notebook cell, and each is a part of the Explorer."""
