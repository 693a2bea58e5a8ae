"""What other programs take or give: one file for each, imported only when it is asked for."""

__all__: list[str] = []
