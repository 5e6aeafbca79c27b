"""Format numbers for print: differences, marks of significance, p-values and intervals."""

SIGNIFICANT, HIGHLY_SIGNIFICANT = 0.05, 0.01
SMALLEST_P = 0.001  # the smallest p-value that is printed


def signed(value: float, decimals: int = 2) -> str:
    """Format a difference with its sign."""
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}".replace("-", "−")  # noqa: RUF001 (a minus as wide as the plus)


def mark(p: float | None) -> str:
    """Return the mark of a significant difference, with a space before it."""
    if p is None or p >= SIGNIFICANT:
        return ""
    return " ‡" if p < HIGHLY_SIGNIFICANT else " †"


def p_text(p: float) -> str:
    """Format a p-value to follow the letter p: "= 0.031", "≤ 0.001"."""
    if p <= SMALLEST_P:
        return f"≤ {SMALLEST_P}"
    text = f"{p:.2g}"
    is_on_its_side = (float(text) < SIGNIFICANT) == (p < SIGNIFICANT)
    return f"= {text}" if is_on_its_side else f"= {p:.4g}"


def interval_text(interval: tuple[float, float], decimals: int = 2) -> str:
    """Format the ends of an interval."""
    return " … ".join(signed(end, decimals) for end in interval)
