"""What every request of a visitor passes: it is counted, may only read, and is logged in to the panel."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from limits import RateLimitItemPerMinute

from verification.contrib.public_demo.world import VISITOR
from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.services.protection import limits
from verification.services.protection.client_networks import network_of

# From one client address: a page of the panel asks for a dozen files.
VISITS = limits.Limit(
    "visits", RateLimitItemPerMinute(240), "This demo answers {amount} requests a minute from one address."
)
READING = ("GET", "HEAD", "OPTIONS")
# What visitors may send: verifications in the sandbox, and the choice of a language, which is a cookie of theirs.
OPEN = ("/session/", "/demo/redeem", "/admin/language/")
PANEL = "/admin/"
# What is kept of a user would be shown to all visitors, who are one: the browsers that are logged in, and whence.
OF_THE_USER = ("/admin/logins/",)
BACKEND = "django.contrib.auth.backends.ModelBackend"


class VisitorMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        network = network_of(client_address(request))
        request.looks_up_as = network  # type: ignore[attr-defined]  # one visitor's look-ups bind no other
        try:
            limits.count(VISITS, network)
        except ApiError as refusal:
            problem = {"code": refusal.problem_code, "detail": refusal.detail, "status": refusal.status}
            return JsonResponse(problem, status=refusal.status, headers={"Retry-After": str(refusal.retry_after)})
        is_open = request.method in READING or request.path_info.startswith(OPEN)
        if not is_open or request.path_info.startswith(OF_THE_USER):
            return render(request, "public_demo/read_only.html", status=HTTPStatus.FORBIDDEN)
        if request.path_info.startswith(PANEL) and not request.user.is_authenticated:
            login(request, User.objects.get(username=VISITOR), BACKEND)
        return self.get_response(request)
