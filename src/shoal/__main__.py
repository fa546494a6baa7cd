"""The program `shoal`, also as `python -m shoal`."""

import gc


def main() -> None:
    # Before the first import, which takes most of the time of `shoal --help`; the collector is back with the command.
    gc.disable()
    from shoal.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
