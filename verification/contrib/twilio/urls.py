"""The paths of Twilio Verify v2 that are served."""

from django.urls import path

from verification.contrib.twilio import views

urlpatterns = [
    path("v2/Services/<str:service_sid>/Verifications", views.start),
    path("v2/Services/<str:service_sid>/Verifications/<str:name>", views.one),
    path("v2/Services/<str:service_sid>/VerificationCheck", views.check_code),
    path("v2/<path:rest>", views.nothing),
]
