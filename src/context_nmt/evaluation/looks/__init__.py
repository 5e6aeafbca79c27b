"""Where the words of a translated document looked in the sentences before, as a page."""
