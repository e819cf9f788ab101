"""Figures, each in two steps: records to a small frozen data object, and that to a plotly figure."""
