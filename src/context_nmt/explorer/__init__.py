"""A page that shows what several systems attended to when they translated a document."""
