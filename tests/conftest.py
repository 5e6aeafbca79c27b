"""The longest file first, and Hypothesis without its time limit for an example, which depends on the machine's load."""

from hypothesis import settings

settings.register_profile("without_deadline", deadline=None)
settings.load_profile("without_deadline")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name != "test_pipeline.py")
