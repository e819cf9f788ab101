"""Models of bench size: real arithmetic, quick on two cores."""
