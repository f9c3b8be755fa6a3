"""The address of each connection, by its public id."""

from django.urls import path

from verification.contrib.connections import views

urlpatterns = [
    path("connect/<uuid:public_id>", views.receive),
    path("connect/<uuid:public_id>/", views.receive),
]
