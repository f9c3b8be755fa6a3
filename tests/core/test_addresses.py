import contextlib

import phonenumbers
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from verification.core.addresses import (
    MAX_EMAIL_LENGTH,
    Address,
    AddressInvalid,
    AddressKind,
    NumberType,
    country_of,
    international_form,
    is_reachable,
    mask,
    parse_address,
    parse_phone_form,
    parse_test_address,
    stored,
    vouched,
    warm,
)

# The first number of a country loads and compiles its plan; on a busy machine that outlasts the deadline.
patient = settings(deadline=None)

# --- Phone numbers ------------------------------------------------------------------------------------


@pytest.mark.requirement(60)
@pytest.mark.parametrize(
    ("raw", "text", "country", "number_type"),
    [
        ("+4915112345678", "+4915112345678", "DE", NumberType.MOBILE),
        ("  +4915112345678 ", "+4915112345678", "DE", NumberType.MOBILE),
        ("+49 151 1234-5678", "+4915112345678", "DE", NumberType.MOBILE),
        ("+49.151/1234.5678", "+4915112345678", "DE", NumberType.MOBILE),
        ("+49 (0)151 12345678", "+4915112345678", "DE", NumberType.MOBILE),
        ("+905320000000", "+905320000000", "TR", NumberType.MOBILE),
        ("+9005320000000", "+905320000000", "TR", NumberType.MOBILE),
        ("+90(532)000-00-00", "+905320000000", "TR", NumberType.MOBILE),
        ("+1 (202) 555-0123", "+12025550123", "US", NumberType.FIXED_LINE_OR_MOBILE),
        ("+1 1 202 555 0123", "+12025550123", "US", NumberType.FIXED_LINE_OR_MOBILE),
        ("+7 8 916 123 45 67", "+79161234567", "RU", NumberType.MOBILE),
        ("+52 55 1234 5678", "+525512345678", "MX", NumberType.FIXED_LINE_OR_MOBILE),
        ("+52 1 55 1234 5678", "+525512345678", "MX", NumberType.FIXED_LINE_OR_MOBILE),
        ("+52-1-(55) 1234-5678", "+525512345678", "MX", NumberType.FIXED_LINE_OR_MOBILE),
        ("+54 9 11 2345 6789", "+5491123456789", "AR", NumberType.MOBILE),
        ("+54 11 15 2345 6789", "+5491123456789", "AR", NumberType.MOBILE),
        ("+39 06 1234 5678", "+390612345678", "IT", NumberType.FIXED_LINE),
        ("+77011234567", "+77011234567", "KZ", NumberType.MOBILE),
        ("+44 70 1234 5678", "+447012345678", "GB", NumberType.PERSONAL_NUMBER),
        ("+49 900 1234567", "+499001234567", "DE", NumberType.PREMIUM_RATE),
        ("+49 800 1234567", "+498001234567", "DE", NumberType.TOLL_FREE),
        ("+49 180 1234567", "+491801234567", "DE", NumberType.SHARED_COST),
        ("+800 1234 5678", "+80012345678", "", NumberType.TOLL_FREE),
        ("+870 773 111 632", "+870773111632", "", NumberType.NON_GEOGRAPHIC),
        ("+881 631 234 567", "+881631234567", "", NumberType.NON_GEOGRAPHIC),
        ("+883 510 012 345", "+883510012345", "", NumberType.NON_GEOGRAPHIC),
    ],
)
def test_it_reads_every_accepted_writing_of_a_number(raw, text, country, number_type):
    assert parse_address(raw) == Address(text, AddressKind.PHONE, country, number_type)


@pytest.mark.requirement(60, 61)
@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "+",
        "++4915112345678",
        "015112345678",
        "4915112345678",
        "004915112345678",
        "(+49)15112345678",
        "+(49)15112345678",
        "+ 4915112345678",
        "+04915112345678",
        "+0151",
        "+49",
        "+15550001",
        "+99912345678",
        "+4915112345678901",
        "+" + "1" * 5000,
        "+49" + " " * 40 + "15112345678",
        "+49 00 151 12345678",
        "+52 1 55 1234 56789",
        "+52 1 1 55 1234 5678",
        "+55 11 8765 4321",
        "+55 0 15 11 98765 4321",
        "+39 6 1234 5678",
        "+972 0 50 123 4567 00",
        "+4915112345678;ext=5",
        "+4915112345678x12",
        "+4915112345678p12",
        "+4915112345678,,12",
        "+4915112345678#12",
        "+4915112345678;phone-context=+1",
        "+4915112345678 +4915112345679",
        "+4915112345678\n",
        "\t+4915112345678",
        "+49151\t12345678",
        "+49151\x0012345678",
        "tel:+4915112345678",
        "+1-800-FLOWERS",
        "＋4915112345678",
        "+49１5112345678",
        "+٤٩15112345678",
        "+49\u00a015112345678",
        "\u00a0+4915112345678",
        "+49\u200b15112345678",
        "\u202a+4915112345678\u202c",
        "+49\u201115112345678",
    ],
)
def test_it_refuses_any_other_writing_of_a_number(raw):
    with pytest.raises(AddressInvalid) as refusal:
        parse_address(raw)
    assert str(refusal.value).endswith(".")
    assert raw.strip() in ("", "+") or raw.strip() not in str(refusal.value)  # its example has a plus, too


def _examples():
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for number_type in (0, 1, 2, 6, 7):
            example = phonenumbers.example_number_for_type(region, number_type)
            if example is not None:
                yield phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.E164)


EXAMPLES = sorted(set(_examples()))
separators = st.lists(st.text(" ()./-", max_size=2), min_size=15, max_size=15)


def _separated(number, between):
    digits = "".join(digit + extra for digit, extra in zip(number[1:], between, strict=False))
    return "+" + digits


@patient
@given(st.sampled_from(EXAMPLES), separators)
def test_separators_never_make_another_recipient(number, between):
    raw = _separated(number, between)
    assume(len(raw.strip()) <= 40)
    assert parse_address(raw) == parse_address(number)


@patient
@given(st.sampled_from(EXAMPLES), st.sampled_from(["0", "1", "8", "9", "06", "00", "015", "(0)"]))
def test_whatever_prefix_is_written_the_canonical_form_is_final(number, prefix):
    country_code = str(phonenumbers.parse(number).country_code)
    raw = "+" + country_code + prefix + number[1 + len(country_code) :]
    try:
        address = parse_address(raw)
    except AddressInvalid:
        return
    assert parse_address(address.text) == address


@patient
@given(st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True))
def test_it_accepts_what_the_library_calls_valid_and_nothing_else(form):
    try:
        valid = phonenumbers.is_valid_number(phonenumbers.parse(form, None))
    except phonenumbers.NumberParseException:
        valid = False
    try:
        accepted = parse_address(form)
    except AddressInvalid:
        assert not valid
    else:
        assert valid
        assert parse_address(accepted.text) == accepted


@patient
@given(st.text("+0123456789 ()./-\t\n\u00a0٠１ex;,", max_size=45))
def test_no_text_gives_anything_but_e164_or_a_refusal(raw):
    try:
        address = parse_address(raw)
    except AddressInvalid:
        return
    assert address.text[0] == "+"
    assert address.text[1:].isascii()
    assert address.text[1:].isdecimal()
    assert len(address.text) <= 16


# --- Test numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", ["+15550001", " +1 555-0001 ", "+1(555)0001"])
def test_a_number_in_the_test_table_need_not_exist(raw):
    address = parse_address(raw, test_addresses={"+15550001"})
    assert address == Address("+15550001", AddressKind.PHONE, "", NumberType.UNKNOWN)


@pytest.mark.parametrize("raw", ["+4915112345678", "+17815550123", "+77011234567", "+870772001899", "jane@example.com"])
def test_a_stored_address_is_read_as_it_was_accepted(raw):
    address = parse_address(raw)
    assert stored(address.text) == address
    assert country_of(address.text) == address.country


def test_a_stored_number_that_no_plan_knows_any_more_keeps_its_text_and_country():
    assert stored("+4900000000") == Address("+4900000000", AddressKind.PHONE, "DE", NumberType.UNKNOWN)


def test_a_test_number_may_have_no_country_code_in_use():
    assert parse_address("+9990001234", test_addresses={"+9990001234"}).text == "+9990001234"


def test_the_test_table_is_not_asked_about_numbers_that_exist():
    class Untouchable:
        def __contains__(self, text):
            raise AssertionError(text)

    assert parse_address("+4915112345678", test_addresses=Untouchable()).country == "DE"


@pytest.mark.parametrize("raw", ["+155500", "+0155500011", "+1555000112345678", "+1555x0001", "15550001"])
def test_a_test_number_needs_the_e164_form(raw):
    for parse in (parse_test_address, parse_phone_form):
        with pytest.raises(AddressInvalid):
            parse(raw)


def test_a_test_row_for_a_number_that_exists_is_found_by_every_writing():
    row = parse_test_address("+49 (0)151 12345678").text
    assert row == "+4915112345678"
    assert parse_address("+49 151/12345678").text == row
    assert parse_test_address("+15550001").text == "+15550001"
    assert parse_test_address("Jane@Example.com").text == "jane@example.com"


def test_a_number_of_the_test_table_has_one_writing_in_mexico_too():
    assert parse_test_address("+52 1 00 0000 0000").text == parse_test_address("+52 00 0000 0000").text


# --- prefixes that the plans lack -------------------------------------------------------------------------------------

EXTRA = ("+1861", "+4930", "+1900")


@pytest.mark.parametrize(
    ("raw", "extra"),
    [
        ("+1 861 234 5678", Address("+18612345678", AddressKind.PHONE, "US", NumberType.MOBILE)),
        ("+1 (1) 861-234-5678", Address("+18612345678", AddressKind.PHONE, "US", NumberType.MOBILE)),
        ("+49 30 123456", Address("+4930123456", AddressKind.PHONE, "DE", NumberType.MOBILE)),
        ("+1 900 234 5678", Address("+19002345678", AddressKind.PHONE, "US", NumberType.PREMIUM_RATE)),
    ],
)
def test_a_number_under_an_extra_prefix_is_a_mobile_number_unless_it_is_one_that_nothing_is_sent_to(raw, extra):
    assert parse_address(raw, extra_prefixes=EXTRA) == extra
    assert stored(extra.text, extra_prefixes=EXTRA) == extra
    assert country_of(extra.text) == extra.country


@pytest.mark.parametrize("raw", ["+1 861 234 567", "+1 861 234 56789", "+1 862 034 5678"])
def test_a_number_of_no_possible_length_or_under_no_extra_prefix_does_not_exist(raw):
    with pytest.raises(AddressInvalid):
        parse_address(raw, extra_prefixes=EXTRA)


@pytest.mark.parametrize(
    ("phone", "number"),
    [
        ("+4915112345678", "+4915112345678"),
        ("+5215512345678", "+525512345678"),
        ("+551187654321", "+5511987654321"),
        ("+551132654321", "+551132654321"),  # a fixed line
        ("+22997000000", "+2290197000000"),
        ("+541123456789", "+541123456789"),  # a fixed line, or a mobile: nobody can tell
        ("+18612345678", "+18612345678"),
        ("anybody", ""),
    ],
)
def test_an_old_form_that_a_messenger_vouches_for_is_its_new_one_where_there_is_just_one(phone, number):
    assert vouched(phone) == number


def test_the_form_keeps_the_digits_as_written():
    assert parse_phone_form(" +49 (0)151-12345678") == "+49015112345678"


# --- E-mail addresses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("jane@example.com", "jane@example.com"),
        ("  Jane.Doe@Example.COM ", "jane.doe@example.com"),
        ("o'brien+tag@mail.example.co.uk", "o'brien+tag@mail.example.co.uk"),
        ("a@b-c.example", "a@b-c.example"),
        ("1@1und1.de", "1@1und1.de"),
        ("jane@bücher.example", "jane@xn--bcher-kva.example"),
        ("jane@BÜCHER.example", "jane@xn--bcher-kva.example"),
        ("jane@bu\u0308cher.example", "jane@xn--bcher-kva.example"),
        ("jane@XN--BCHER-KVA.example", "jane@xn--bcher-kva.example"),
        ("jane@\u212bngström.example", "jane@xn--ngstrm-hua5l.example"),
        ("jane@straße.example", "jane@xn--strae-oqa.example"),
        ("jane@пример.рф", "jane@xn--e1afmkfd.xn--p1ai"),
        ("jane@ПРИМЕР.РФ", "jane@xn--e1afmkfd.xn--p1ai"),
        ("jane@例え.jp", "jane@xn--r8jz45g.jp"),
        ("a" * 64 + "@example.com", "a" * 64 + "@example.com"),
        ("a@" + "b" * 63 + ".example", "a@" + "b" * 63 + ".example"),
    ],
)
def test_it_reads_every_accepted_writing_of_an_email_address(raw, text):
    address = parse_address(raw)
    assert address == Address(text, AddressKind.EMAIL, "", NumberType.NONE)
    assert parse_address(address.text) == address


@pytest.mark.requirement(63)
@pytest.mark.parametrize(
    "raw",
    [
        "@",
        "jane@",
        "@example.com",
        "jane@example",
        "jane@localhost",
        "jane@example.com.",
        "jane@.example.com",
        "jane@example..com",
        "jane@-example.com",
        "jane@example-.com",
        "jane@exam_ple.com",
        "jane@exa mple.com",
        "jane @example.com",
        "jane@ example.com",
        ".jane@example.com",
        "jane.@example.com",
        "ja..ne@example.com",
        "jane@example.com@example.org",
        "jane@example.com,joe@example.com",
        "jane@example.com;joe@example.com",
        "Jane <jane@example.com>",
        "<jane@example.com>",
        '"jane"@example.com',
        '"ja ne"@example.com',
        "jane(home)@example.com",
        "jane@example.com(home)",
        "jane@(home)example.com",
        "@relay.example:jane@example.com",
        "jane%example.org@example.com",
        "example.org!jane@example.com",
        "jane%0d%0a@example.com",
        "mailto:jane@example.com",
        "jane\\@example.com",
        "jane@[192.0.2.1]",
        "jane@[IPv6:2001:db8::1]",
        "jane@192.0.2.1",
        "jane@example.0x7f",
        "jane@example.com:25",
        "jane@example.com/x",
        "jane@example.com\n",
        "jane@example.com\r\nBcc: joe@example.com",
        "ja\nne@example.com",
        "jane\t@example.com",
        "\tjane@example.com",
        "jane@example.com\x00",
        "jane\x7f@example.com",
        "jane@exam\u00adple.com",
        "jane@exam\u200bple.com",
        "jane@exam\u200dple.com",
        "\u00a0jane@example.com",
        "jane@example.com\u2028",
        "jané@example.com",
        "mıke@example.com",
        "\u212aate@example.com",
        "jane\u200b@example.com",
        "jane＠example.com",
        "jane@\u212aiwi.example",
        "jane@ｅxample.com",
        "jane@example。com",
        "jane@example．com",
        "jane@exa\ufb01mple.com",
        "jane@①.example",
        "jane@İstanbul.example",
        "jane@℀.example",
        "jane@\U0001d41eexample.com",
        "jane@☃.example",
        "jane@xn--.example",
        "jane@xn--a.example",
        "jane@xn--abc-.example",
        "jane@xn--bcher-kva-.example",
        "jane@xn--\u00fc.example",
        "jane@xn--e1afmkfd99999999.example",
        "jane@ab--cd.example",
        "a" * 65 + "@example.com",
        "a@" + "b" * 64 + ".example",
        "a@" + ("b" * 60 + ".") * 4 + "example.com",
        "a@" + "äö" * 30 + ".example",
        "a@" + ".".join(["ü" * 39] * 6) + ".example",
        "a" * 20000 + "@" + "ü" * 20000,
    ],
)
def test_it_refuses_any_other_writing_of_an_email_address(raw):
    with pytest.raises(AddressInvalid) as refusal:
        parse_address(raw)
    assert raw not in str(refusal.value) or raw == "@"
    assert str(refusal.value).isprintable()


@pytest.mark.requirement(62, 64)
def test_similar_addresses_stay_different_recipients():
    writings = ["mike@example.com", "mike+a@example.com", "mi.ke@example.com", "mike@exampıe.com"]
    assert len({parse_address(raw).text for raw in writings}) == len(writings)


@patient
@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_gives_anything_but_one_plain_ascii_address_or_a_refusal(local, domain):
    try:
        address = parse_address(f"{local}@{domain}.example")
    except AddressInvalid:
        return
    assert address.text.isascii()
    assert address.text.isprintable()
    assert address.text == address.text.lower()
    assert address.text.count("@") == 1
    assert parse_address(address.text) == address


@pytest.mark.requirement(62)
@patient
@given(st.characters(min_codepoint=128))
def test_no_character_beyond_ascii_turns_into_an_ascii_domain(char):
    try:
        text = parse_address(f"jane@a{char}b.example").text
    except AddressInvalid:
        return
    assert text.startswith("jane@xn--")


@patient
@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", max_size=50))
def test_an_encoded_label_is_canonical_or_refused(encoded):
    raw = f"jane@xn--{encoded}.example"
    with contextlib.suppress(AddressInvalid):
        assert parse_address(raw).text == raw


def test_the_length_limit_holds_to_the_octet():
    domain = ".".join(["b" * 60] * 3) + "."
    local = "a" * 60
    top = "c" * (MAX_EMAIL_LENGTH - len(local) - 1 - len(domain))
    assert len(parse_address(f"{local}@{domain}{top}").text) == 254
    with pytest.raises(AddressInvalid):
        parse_address(f"{local}@{domain}{top}c")


# --- Rules and display --------------------------------------------------------------------------------

PHONE_CHANNELS = ["sms", "voice", "messenger_a", "messenger_b"]


def _phone(number_type):
    return Address("+4915112345678", AddressKind.PHONE, "DE", number_type)


@pytest.mark.parametrize(
    ("number_type", "sms", "sms_with_voip", "call", "call_with_voip"),
    [
        (NumberType.MOBILE, True, True, True, True),
        (NumberType.FIXED_LINE_OR_MOBILE, True, True, True, True),
        (NumberType.FIXED_LINE, False, False, True, True),
        (NumberType.VOIP, False, True, True, True),
        (NumberType.PERSONAL_NUMBER, False, True, False, True),
    ],
)
def test_each_number_type_has_its_channels(number_type, sms, sms_with_voip, call, call_with_voip):
    address = _phone(number_type)
    assert is_reachable(address, "sms", allow_voip=False) is sms
    assert is_reachable(address, "sms", allow_voip=True) is sms_with_voip
    for channel in PHONE_CHANNELS[1:]:
        assert is_reachable(address, channel, allow_voip=False) is call
        assert is_reachable(address, channel, allow_voip=True) is call_with_voip


@pytest.mark.requirement(61)
@pytest.mark.parametrize(
    "writings",
    [
        pytest.param(("+5491123456789", "+541123456789", "+54111523456789"), id="Argentina, with 9, without, with 15"),
        pytest.param(("+525512345678", "+5215512345678", "+5204455512345678"), id="Mexico, as now, with 1, with 044"),
    ],
)
def test_of_a_mobile_with_several_writings_one_recipient_alone_gets_sms(writings):
    """Otherwise each writing would bring limits of its own to one phone."""
    reached = set()
    for writing in writings:
        with contextlib.suppress(AddressInvalid):
            address = parse_address(writing)
            if is_reachable(address, "sms", allow_voip=True):
                reached.add(address.text)
    assert reached == {writings[0]}


@pytest.mark.requirement(55)
@pytest.mark.parametrize(
    "number_type",
    [
        NumberType.PREMIUM_RATE,
        NumberType.SHARED_COST,
        NumberType.TOLL_FREE,
        NumberType.UAN,
        NumberType.PAGER,
        NumberType.VOICEMAIL,
        NumberType.NON_GEOGRAPHIC,
        NumberType.UNKNOWN,
    ],
)
@pytest.mark.parametrize("channel", [*PHONE_CHANNELS, "email"])
def test_some_number_types_are_refused_everywhere(number_type, channel):
    assert not is_reachable(_phone(number_type), channel, allow_voip=True)


@pytest.mark.requirement(65)
def test_email_is_for_email_addresses_only():
    jane = parse_address("jane@example.com")
    assert is_reachable(jane, "email", allow_voip=False)
    assert not any(is_reachable(jane, channel, allow_voip=True) for channel in PHONE_CHANNELS)
    assert not is_reachable(_phone(NumberType.MOBILE), "email", allow_voip=True)


@pytest.mark.parametrize(
    ("raw", "country", "text"),
    [
        ("4794567890", "US", "+14794567890"),
        ("1 (479) 456-7890", "US", "+14794567890"),
        ("0151 12345678", "DE", "+4915112345678"),
        ("0049 151 12345678", "DE", "+4915112345678"),
        ("89161234567", "RU", "+79161234567"),
        ("6591234567", "SG", "+6591234567"),
        ("00479456789", "DE", None),  # Norway's
        ("278134116", "ZA", None),  # 027 813 4116, or +27 81 34116
        ("+14794567890", "US", None),
        ("\u202d4794567890", "US", None),
        ("٤٧٩٤٥٦٧٨٩٠", "US", None),
        ("1-800-FLOWERS", "US", None),
        ("", "US", None),
        ("(", "US", None),
    ],
)
def test_a_national_number_is_of_its_country_or_nobodys(raw, country, text):
    if text is None:
        with pytest.raises(AddressInvalid):
            international_form(raw, country)
    else:
        assert international_form(raw, country) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("+491511234578", "+4915******78"),
        ("+15550001", "+15******01"),
        ("+1555000", "+1******00"),
        ("jane@example.com", "j***@e***.com"),
        ("j@example.com", "***@e***.com"),
        ("jane@mail.example.co.uk", "j***@m***.uk"),
        ("jane@xn--e1afmkfd.xn--p1ai", "j***@x***.xn--p1ai"),
        ("'q@example.com", "***"),
        ("", "***"),
        ("123456", "***"),
        ("+49", "***"),
        ("+49 151 12345678", "***"),
        ("a@b@c.example", "***"),
        ("jane@example.com\n", "***"),
        ("jane", "***"),
    ],
)
def test_a_mask_is_only_a_hint(text, masked):
    assert mask(text) == masked


@patient
@given(st.text(max_size=40))
def test_a_mask_never_shows_the_text(text):
    assert mask(text) == "***" or text not in mask(text)


def test_warming_up_leaves_the_answers_as_they_are():
    before = [parse_address(number) for number in EXAMPLES[:20]]
    warm()
    assert [parse_address(number) for number in EXAMPLES[:20]] == before
