"""The exported model that these tests share."""

from tests.exported_models import exported as exported
