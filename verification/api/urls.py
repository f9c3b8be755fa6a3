"""The endpoints. Each answers with and without a trailing slash (the middleware takes it off)."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from verification.api import event_views, hook_views, manual_views, session_record_views, session_views
from verification.api.serializers.fields import ULID


class SessionIdConverter(StringConverter):
    """The id of a session. No other word in its place is one, so that the names of endpoints stay free."""

    regex = ULID.strip("^$")


register_converter(SessionIdConverter, "session_id")

urlpatterns = [
    path("session/create", session_views.SessionCreateView.as_view()),
    path("session/send", session_views.SessionSendView.as_view()),
    path("session/channels", session_views.SessionChannelsView.as_view()),
    path("session/check", session_views.SessionCheckView.as_view()),
    path("session/settings", session_views.SessionSettingsView.as_view()),
    path("session/challenge", session_views.SessionChallengeView.as_view()),
    path("session/delivery", session_views.SessionDeliveryView.as_view()),
    path("session/verify", session_views.SessionVerifyView.as_view()),
    path("session", session_record_views.SessionListView.as_view()),
    path("session/<session_id:session_id>", session_record_views.SessionRecordView.as_view()),
    path("session/<session_id:session_id>/cancel", session_record_views.SessionCancelView.as_view()),
    path("manual/send", manual_views.ManualSendView.as_view()),
    path("manual/message/<str:id>", manual_views.ManualMessageView.as_view()),
    path("manual/verified", manual_views.ManualVerifiedView.as_view()),
    path("manual/channels", manual_views.ManualChannelsView.as_view()),
    path("events", event_views.EventsView.as_view()),
    path("events/<str:id>", event_views.EventView.as_view()),
    path("hooks/<str:provider_uuid>/<str:secret>", hook_views.ProviderHookView.as_view()),
]
