"""The form on a page of another origin: the ways through it, and what goes wrong."""

import json
import time

import pytest
from django.test import Client

from tests import factories
from tests.browser.form_page import CODE, NUMBER
from tests.live import wait_until
from verification.models import FallbackStep, Message, MessageStatus, Session
from verification.services.delivery.fallback import send_next_channel
from verification.services.delivery.sweep import sweep_once
from verification.services.projects import projects
from verification.services.projects.snapshot import load_project
from verification.services.providers.accounts import add_sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("form in the browser"),
]


def call(form, path, **body):
    """A call of another client of the project."""
    headers = {"x-api-key": form.project.api_key}
    return Client().post(path, json.dumps(body), content_type="application/json", headers=headers).json()


def session_id():
    return Session.objects.get().id


# --- the way through --------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_leads_to_the_token_and_nothing_is_complained_of(form):
    form.open()
    keyboard = form.page.keyboard
    form.page.get_by_role("textbox", name="Phone number").focus()
    keyboard.type("0151 12345678")
    keyboard.press("Enter")
    form.code.wait_for()
    keyboard.type(CODE)  # the field has the focus, and a whole code is sent by itself
    form.is_verified()
    assert form.names() == ["sent", "verified"]
    [_, detail] = form.events[-1]
    assert (len(detail["verify_token"]), detail["is_test"]) == (36, True)
    assert form.complaints == []


def test_the_arrow_keys_go_from_phone_to_email_and_back(form):
    form.open()
    form.page.get_by_role("radio", name="Phone").focus()
    form.page.keyboard.press("ArrowRight")
    form.page.get_by_role("textbox", name="E-mail address").wait_for()
    form.page.keyboard.press("ArrowLeft")
    form.page.get_by_role("textbox", name="Phone number").wait_for()


def test_a_pasted_message_is_read_and_sent(form):
    form.reach_code()
    form.page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text", text);
            const code = document.querySelector("watchword-verify").shadowRoot.querySelector("#code");
            code.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, cancelable: true}));
        }""",
        f"{CODE} is your Shop code. Valid for 3 min.",
    )
    form.is_verified()


def test_a_number_that_is_in_doubt_stays_in_the_field_and_is_not_sent(form):
    form.open()
    typed = f"{NUMBER} or +4915187654321"
    form.send(typed)
    form.says("Write it with + and the country code.")
    assert form.page.get_by_role("textbox", name="Phone number").input_value() == typed
    assert form.events == []


def test_a_number_that_is_typed_with_00_is_no_number_at_home(form):
    form.open()
    form.page.get_by_role("textbox", name="Phone number").press_sequentially(NUMBER.replace("+", "00"))
    form.button("Send code").click()
    form.code.wait_for()
    form.type(CODE)
    form.is_verified()


def test_the_number_that_comes_back_has_its_country(form):
    form.reach_code("+12015550123")
    form.button("Change").click()
    assert form.page.get_by_role("combobox", name="Country").input_value() == "US"


def test_a_code_that_was_only_cut_is_not_sent(form):
    form.reach_code()
    form.code.fill(f"{CODE}1")
    assert form.code.input_value() == CODE
    assert form.names() == ["sent"]
    form.button("Confirm").click()
    form.is_verified()


def test_a_code_of_an_sms_that_the_browser_hands_over_is_sent(form):
    form.page.add_init_script(
        "window.OTPCredential = class {};"
        f"navigator.credentials.get = async asked => ({{code: asked.otp.transport[0] == 'sms' ? '{CODE}' : ''}});"
    )
    form.open()
    form.send()
    form.is_verified()


def test_a_given_recipient_cannot_be_changed(form):
    form.open('to="ada@example.com"')
    form.button("Send code").click()
    form.code.wait_for()
    assert form.button("Change").count() == 0
    form.type("975310")
    form.is_verified()


def test_the_code_goes_out_again_over_a_channel_once_its_time_has_run_down(form):
    form.reach_code()
    assert form.button("SMS").get_attribute("aria-disabled") == "true"
    form.button("Voice call").click()
    form.page.get_by_text("Voice call").first.wait_for()
    wait_until(lambda: len(form.events) == 2, "the second code is sent")
    assert [detail["channel"] for _, detail in form.events] == ["sms", "voice"]


def test_the_channel_of_the_last_verification_is_chosen_at_first(form):
    form.open()
    form.page.get_by_text("Voice call").click()
    form.send()
    form.code.wait_for()
    form.type(CODE)
    form.is_verified()
    form.open()
    assert form.page.get_by_role("radio", name="Voice call").is_checked()


# --- sends that fail --------------------------------------------------------------------------------------------------


REFUSED, DOWN, DELIVERED = "+12125550103", "+12125550106", "+12125550100"  # of the sandbox, providers/sandbox.py


@pytest.fixture
def sandbox(form):
    """The form of a test project, whose recipients have known outcomes."""
    new = projects.create_project(name="Tests", is_sandbox=True)
    add_sandbox(new.project)
    form.project = factories.MadeProject(new.project, new.api_key, new.secret_key).set(origins=[form.origin])
    return form


def deliver(form):
    sweep_once(limit=10)
    form.look_again()


@pytest.mark.parametrize("number", [REFUSED, DOWN])
def test_a_send_that_failed_is_told_with_the_ways_that_are_left(sandbox, number):
    sandbox.reach_code(number)
    deliver(sandbox)
    sandbox.says("We couldn’t send the code by SMS. Choose another option, or try again.")
    assert sandbox.page.get_by_text("We sent a code to").count() == 0  # it is taken back
    assert sandbox.code.count() == 0
    assert sandbox.button("SMS").get_attribute("aria-disabled") == "false"
    assert ["error", {"code": "not_sent", "channel": "sms"}] in sandbox.events


def test_a_send_that_failed_is_told_without_the_user_doing_anything(sandbox):
    sandbox.reach_code(REFUSED)
    sweep_once(limit=10)
    sandbox.says("We couldn’t send the code by SMS.")


def test_after_a_send_that_failed_another_way_leads_on(sandbox):
    sandbox.reach_code(REFUSED)
    deliver(sandbox)
    sandbox.says("Choose another option")
    sandbox.button("Voice call").click()
    sandbox.code.wait_for()
    assert sandbox.alert.count() == 0


def test_a_code_that_went_out_before_can_still_be_entered_after_a_send_that_failed(sandbox):
    sandbox.reach_code(DELIVERED)
    deliver(sandbox)
    sandbox.button("Voice call").click()
    wait_until(lambda: len(sandbox.events) == 2, "the second code is sent")
    Message.objects.filter(channel="voice").update(status=MessageStatus.FAILED, is_counted=False)
    sandbox.look_again()
    sandbox.says("We couldn’t send the code by Voice call.")
    sandbox.type("424242")
    sandbox.is_verified()


# --- what the project sends by itself ---------------------------------------------------------------------------------


def fall_back(form):
    """The project sends the code over the channel that comes after those that were used."""
    for position, channel in enumerate(("sms", "voice")):
        FallbackStep.objects.get_or_create(project=form.project.row, position=position, channel=channel, wait_seconds=5)
    used = Message.objects.values_list("channel", flat=True)
    assert send_next_channel(load_project(form.project.row.pk), session_id(), used=set(used)) == "voice"
    form.look_again()


INSTEAD = "We couldn’t send the code by SMS. We sent it by Voice call instead."


def test_a_code_that_went_over_the_next_channel_after_a_failure_is_told_with_both(sandbox):
    sandbox.reach_code(REFUSED)
    sweep_once(limit=10)
    fall_back(sandbox)
    sandbox.page.get_by_text(INSTEAD).first.wait_for()
    assert sandbox.page.locator("[part=by]").inner_text().startswith("Voice call")
    assert [detail.get("channel") for name, detail in sandbox.events if name == "sent"] == ["sms", "voice"]
    sandbox.type("424242")
    sandbox.is_verified()


def test_a_channel_that_follows_a_failure_later_brings_the_field_of_the_code_back(sandbox):
    sandbox.reach_code(REFUSED)
    deliver(sandbox)
    sandbox.says("Choose another option")
    fall_back(sandbox)
    sandbox.page.get_by_text(INSTEAD).first.wait_for()
    assert sandbox.alert.count() == 0
    sandbox.code.wait_for()


def test_a_code_that_also_goes_over_the_next_channel_leaves_what_was_typed(sandbox):
    sandbox.reach_code(DELIVERED)
    deliver(sandbox)
    sandbox.type("4242")
    fall_back(sandbox)
    sandbox.page.get_by_text("We also sent the code by Voice call.").first.wait_for()
    assert sandbox.code.input_value() == "4242"
    sandbox.page.keyboard.type("42")  # the field still has the focus
    sandbox.is_verified()


def test_a_reload_knows_the_channels_that_the_code_went_over(sandbox):
    sandbox.reach_code(DELIVERED)
    deliver(sandbox)
    fall_back(sandbox)
    sandbox.page.get_by_text("We also sent the code by Voice call.").first.wait_for()
    sandbox.page.reload()
    sandbox.code.wait_for()
    with sandbox.page.expect_response("**/session/delivery?*"):
        sandbox.look_again()
    assert sandbox.page.locator("[part=by]").inner_text().startswith("Voice call")
    assert sandbox.page.get_by_text("We also sent").count() == 0


# --- wrong codes and ends ---------------------------------------------------------------------------------------------


def test_a_wrong_code_tells_the_tries_left_and_the_last_one_ends_the_session(form):
    form.reach_code("+4915187654321")  # a code of four characters has three tries
    for left in (2, 1):
        form.type("1111")
        form.says(f"Attempts left: {left}")
    assert form.code.get_attribute("aria-invalid") == "true"
    assert form.code.input_value() == ""
    form.type("1111")
    form.says("Too many wrong codes")
    form.button("Start again").click()
    form.page.get_by_role("textbox", name="Phone number").wait_for()
    assert form.kept() == "[{},{}]"


def test_a_session_that_was_verified_elsewhere_is_told(form):
    form.reach_code()
    call(form, "/session/check", session_id=session_id(), code=CODE)
    form.look_again()
    form.says("already used")
    assert form.events[-1][1]["code"] == "session_verified"


def test_a_session_that_is_over_is_told_and_a_new_one_opens(form):
    form.reach_code()
    factories.expire_everything()
    form.look_again()
    form.says("no longer valid")
    assert form.names() == ["sent", "error", "expired"]
    form.button("Start again").click()
    form.send()
    form.code.wait_for()


# --- reload, clock, network -------------------------------------------------------------------------------------------


def test_a_reload_goes_on_with_the_session_and_nothing_secret_is_kept(form):
    form.reach_code()
    form.type("11111")
    assert "11111" not in form.kept() and session_id() in form.kept()
    form.page.reload()
    form.code.wait_for()
    assert Session.objects.count() == 1
    form.type(CODE)
    form.is_verified()
    token = form.events[-1][1]["verify_token"]
    assert token not in form.kept() and session_id() not in form.kept()


def test_a_second_tab_goes_on_with_the_session_and_is_told_once_it_is_verified(form):
    form.reach_code()
    with form.page.expect_popup() as opened:
        form.page.evaluate("void open(location.href)")
    other = opened.value
    other.get_by_role("textbox", name="Code").wait_for()
    assert Session.objects.count() == 1
    form.type(CODE)
    form.is_verified()
    other.locator("#title").filter(has_text="You already confirmed in another window.").wait_for()
    assert other.get_by_role("alert").filter(has_text="used").count() == 0
    names = other.evaluate("events.map(([name]) => name)")
    assert "elsewhere" in names and "verified" not in names
    assert other.evaluate("sessionStorage.length") == 0


def test_another_session_of_this_browser_goes_on(form):
    form.reach_code()
    form.page.evaluate(
        "name => new BroadcastChannel(name).postMessage('01ARZ3NDEKTSV4RRFFQ69G5FAV')",
        f"watchword-verify:{form.service}",
    )
    form.type(CODE)
    form.is_verified()


def test_the_back_button_leads_to_the_session_and_after_its_end_to_a_new_one(form):
    form.files["/terms"] = ("text/html", "<!doctype html><title>Terms</title>")
    form.reach_code()
    form.page.goto(f"{form.origin}/terms")
    form.page.go_back()
    form.type(CODE)
    form.is_verified()
    form.page.goto(f"{form.origin}/terms")
    form.page.go_back()
    form.page.get_by_role("textbox", name="Phone number").wait_for()
    assert form.events == []


def test_a_page_that_the_browser_kept_in_memory_shows_no_verification_of_before(form):
    back = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    form.reach_code()
    form.type(CODE)
    form.is_verified()
    form.page.evaluate(back)
    form.page.get_by_role("textbox", name="Phone number").fill("+4915187654321")
    form.button("Send code").click()
    form.code.wait_for()
    factories.expire_everything()
    form.page.evaluate(back)
    form.says("no longer valid")


def test_a_countdown_never_begins_above_the_life_of_the_session(form):
    form.page.add_init_script("performance.now = () => 1_000")  # the first sight, however slow the browser is
    for part in (0.0, 0.3, 0.6, 0.9):  # the answer tells whole seconds, whenever in a second it is given
        time.sleep((part - time.time()) % 1)
        form.reach_code()
        assert form.page.get_by_text("Valid for").inner_text() <= "Valid for 3:00"
        factories.expire_everything()
        form.page.evaluate("sessionStorage.clear()")


def test_a_wrong_clock_changes_no_countdown(form):
    form.page.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000;")
    form.reach_code()
    form.page.get_by_text("Valid for 2:").or_(form.page.get_by_text("Valid for 3:00")).wait_for()
    form.page.reload()
    form.page.get_by_text("Valid for 2:").wait_for()


def test_without_a_network_the_user_is_told_and_the_next_try_works(form):
    form.open()
    form.page.route("**/session/create", lambda route: route.abort())
    form.send()
    form.says("No connection")
    form.page.unroute("**/session/create")
    form.button("Send code").click()
    form.code.wait_for()


def test_a_page_that_finds_no_network_at_first_can_be_tried_again(form):
    form.page.route("**/session/settings", lambda route: route.abort())
    form.open()
    form.says("No connection")
    form.page.unroute("**/session/settings")
    form.button("Try again").click()
    form.page.get_by_role("textbox", name="Phone number").wait_for()


def test_a_network_that_goes_away_in_the_middle_costs_no_try_and_not_the_code(form):
    form.reach_code()
    form.page.context.set_offline(True)
    form.type(CODE)
    form.says("No connection")
    form.page.context.set_offline(False)
    form.button("Confirm").click()
    form.is_verified()


def test_a_reload_that_finds_no_network_goes_on_with_the_session_later(form):
    form.reach_code()
    form.page.route("**/session/settings*", lambda route: route.abort())
    form.page.reload()
    form.says("No connection")
    form.page.unroute("**/session/settings*")
    form.button("Try again").click()
    form.type(CODE)
    form.is_verified()


def test_a_slow_answer_is_told_of_while_it_is_waited_for(form):
    form.open()
    waiting = []
    form.page.route("**/session/create", lambda route: waiting.append(route))
    form.send()
    form.page.get_by_role("status").filter(has_text="Still working").wait_for(state="attached")
    waiting[0].continue_()
    form.code.wait_for()


def test_a_check_is_never_repeated_by_itself(form):
    asked = []
    form.reach_code()
    form.page.route("**/session/check", lambda route: (asked.append(1), route.abort()))
    form.type(CODE)
    form.says("No connection")
    assert len(asked) == 1


def test_a_page_without_a_key_is_told_so(form):
    form.project.api_key = ""
    form.open()
    form.says("not set up correctly")


def test_the_console_tells_what_to_do_where_the_origin_is_not_listed(form):
    form.project.set(origins=["https://shop.example"])
    form.open()
    form.says("No connection")
    assert any(f"list {form.origin} in the project's origins" in complaint for complaint in form.complaints)
