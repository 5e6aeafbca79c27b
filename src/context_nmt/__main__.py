"""The command line `context-nmt`."""

from context_nmt.command_line import one_line_errors


def main() -> None:
    """Run the command that the arguments name."""
    with one_line_errors():  # also for Ctrl-C while Typer is loaded
        from context_nmt.commands import app

        app()


if __name__ == "__main__":
    main()
