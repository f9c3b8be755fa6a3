"""The addresses of the hosted page and of the demo."""

from django.urls import path

from verification.contrib.hosted import demo, page

urlpatterns = [
    path("verify/<uuid:public_id>", page.show),
    path("verify/<uuid:public_id>/", page.show),
    path("verify/<uuid:public_id>/logo.png", page.logo),
    path("verify/", page.unknown),
    path("verify/<path:rest>", page.unknown),
    path("demo/", demo.show),
    path("demo/inbox", demo.inbox),
    path("demo/redeem", demo.redeem),
]
