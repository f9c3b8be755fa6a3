"""Django's lazy translations, whose words are chosen when they are shown, typed as the text that they become."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.utils.translation import gettext as gettext_lazy

    def format_lazy(text: str, **values: object) -> str: ...
else:
    from django.utils.text import format_lazy
    from django.utils.translation import gettext_lazy

__all__ = ["format_lazy", "gettext_lazy"]
