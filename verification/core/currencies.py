"""The currencies that money is told in, by their codes of ISO 4217."""

from __future__ import annotations

from verification.core.errors import UserError

CURRENCY_LENGTH = 3  # letters of every code
NO_CURRENCY = "XXX"  # ISO 4217's code for no currency: of what costs nothing while its price is not known
USUAL_ACCOUNT = "USD"  # most vendors' price lists are in it

_CODES = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP
    CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
    IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD
    MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB
    RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
    UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
CURRENCIES = frozenset(_CODES.split())


def clean_currency(text: str) -> str:
    """Return a currency's code. Raises :class:`UserError`."""
    code = text.strip().upper()
    if code not in CURRENCIES:
        raise UserError(f"{text!r} is not a currency. Write three letters, such as EUR.")
    return code
