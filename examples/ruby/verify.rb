# Verifies a phone number or an e-mail address, and judges calls of the service, with Ruby 3.0 or later alone.
#
#     WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... ruby verify.rb +46701740605
#
# In a web application, begin_session and check answer your form, and verified runs where the user is logged in.
# `ruby verify.rb webhook` reads a call's body from the standard input, and its three headers from the environment.

require "base64"
require "json"
require "net/http"
require "openssl"

TIMEOUT_SECONDS = 10
TOLERANCE_SECONDS = 300 # a recorded call is older

# A refusal or failure of the service. Program against its code.
class Problem < StandardError
  attr_reader :code, :retry_after, :attempts_left

  def initialize(document)
    super("#{document["code"]}: #{document["detail"]}")
    @code, @retry_after, @attempts_left = document.values_at("code", "retry_after", "attempts_left")
  end
end

# Post a body, and return the answer and its headers.
def call(path, body, key)
  uri = URI(ENV.fetch("WATCHWORD_URL") + path)
  headers = { "content-type" => "application/json", "x-api-key" => key }
  options = { use_ssl: uri.scheme == "https", open_timeout: TIMEOUT_SECONDS, read_timeout: TIMEOUT_SECONDS }
  response = Net::HTTP.start(uri.host, uri.port, **options) do |http|
    http.post(uri.request_uri, JSON.generate(body), headers) # which follows no redirect: it would carry the key along
  end
  answer = JSON.parse(response.body)
  return answer, response if response.code == "200"
  raise Problem.new(answer) if answer["code"]

  raise "The answer, with status #{response.code}, is not from Watchword."
end

# Send a code, and return the session's id.
def begin_session(to)
  call("/session/create", { to: to }, ENV.fetch("WATCHWORD_API_KEY")).first["session_id"]
end

# Check what the user typed, and return the verify token.
def check(session_id, code)
  call("/session/check", { session_id: session_id, code: code }, ENV.fetch("WATCHWORD_API_KEY")).first["verify_token"]
end

# Redeem the verify token, and return who was verified. Compare it with the account that is to be entered.
def verified(token)
  answer, headers = call("/session/verify", { verify_token: token }, ENV.fetch("WATCHWORD_SECRET_KEY"))
  raise "This is a test login; nobody gets in." if headers["x-test-login"] && ENV["ALLOW_TEST_LOGINS"] != "1"

  answer["phone"] || answer["email"]
end

# Return whether a call is the service's own and of now (Standard Webhooks). The body is as it arrived.
def genuine?(id, timestamp, signatures, body, secret)
  return false unless timestamp.match?(/\A[0-9]{1,12}\z/) && (Time.now.to_i - timestamp.to_i).abs <= TOLERANCE_SECONDS

  key = Base64.decode64(secret.delete_prefix("whsec_"))
  expected = "v1,#{Base64.strict_encode64(OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.#{body}"))}"
  signatures.split.any? { |given| given.bytesize == expected.bytesize && OpenSSL.fixed_length_secure_compare(given, expected) }
end

def ask_for_token(session_id)
  loop do
    print "Code: "
    return check(session_id, ($stdin.gets || exit(1)).strip)
  rescue Problem => problem
    raise unless problem.code == "invalid_code"

    puts "That is not the code. Tries left: #{problem.attempts_left}."
  end
end

def main(argument)
  case argument
  when nil then abort "Give a phone number or an e-mail address."
  when "webhook"
    given = ENV.values_at("WEBHOOK_ID", "WEBHOOK_TIMESTAMP", "WEBHOOK_SIGNATURE")
    is_genuine = genuine?(*given, $stdin.read, ENV.fetch("WEBHOOK_SECRET"))
    puts is_genuine ? "genuine" : "refused"
  else
    puts "Verified: #{verified(ask_for_token(begin_session(argument)))}"
  end
rescue Problem => problem
  abort problem.retry_after ? "#{problem.message} Try again in #{problem.retry_after} seconds." : problem.message
end

$stdout.sync = true
main(ARGV.first)
