<?php

/**
 * Verifies a phone number or an e-mail address, with PHP 8.1 or later and nothing installed.
 *
 *     WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... php verify.php +46701740605
 *
 * In a web application, begin() and check() answer your form, and verified() runs where the user is logged in.
 */

declare(strict_types=1);

/** A refusal or failure of the service. Program against $problemCode. */
final class Problem extends RuntimeException
{
    public function __construct(
        public readonly string $problemCode,
        string $detail,
        public readonly ?int $retryAfter,
        public readonly ?int $attemptsLeft,
    ) {
        parent::__construct($detail);
    }
}

const TIMEOUT_SECONDS = 10;

/** @return array{0: array<string, mixed>, 1: list<string>} the answer and its headers */
function call(string $path, array $body, #[SensitiveParameter] string $key): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => ['content-type: application/json', "x-api-key: $key"],
        'content' => json_encode($body, JSON_THROW_ON_ERROR),
        'timeout' => TIMEOUT_SECONDS,
        'follow_location' => 0, // a redirect would carry the key elsewhere
        'ignore_errors' => true, // problem documents are read below
    ]]);
    $text = @file_get_contents(getenv('WATCHWORD_URL') . $path, false, $context);
    if ($text === false) {
        throw new RuntimeException('The service did not answer.');
    }
    $answer = json_decode($text, true);
    if (!is_array($answer)) {
        throw new RuntimeException('The answer is not one of Watchword\'s.');
    }
    if (isset($answer['status'], $answer['code'])) {
        $detail = $answer['detail'] ?? $answer['code'];
        throw new Problem($answer['code'], $detail, $answer['retry_after'] ?? null, $answer['attempts_left'] ?? null);
    }
    return [$answer, $http_response_header];
}

/** Send a code, and return the session's id. */
function begin(string $to): string
{
    return call('/session/create', ['to' => $to], getenv('WATCHWORD_API_KEY'))[0]['session_id'];
}

/** Check what the user typed, and return the verify token. */
function check(string $sessionId, string $code): string
{
    return call('/session/check', ['session_id' => $sessionId, 'code' => $code], getenv('WATCHWORD_API_KEY'))[0]['verify_token'];
}

/** Redeem the verify token, and return who was verified. Compare it with the account that is to be entered. */
function verified(string $token): string
{
    [$answer, $headers] = call('/session/verify', ['verify_token' => $token], getenv('WATCHWORD_SECRET_KEY'));
    $isTest = preg_grep('/^x-test-login:/i', $headers) !== [];
    if ($isTest && getenv('ALLOW_TEST_LOGINS') !== '1') {
        throw new RuntimeException('This is a test login; nobody gets in.');
    }
    return $answer['phone'] ?? $answer['email'];
}

try {
    $sessionId = begin($argv[1] ?? exit("Give a phone number or an e-mail address.\n"));
    do {
        echo "Code: ";
        $line = fgets(STDIN);
        if ($line === false) {
            exit(1);
        }
        $token = null;
        try {
            $token = check($sessionId, trim($line));
        } catch (Problem $problem) {
            if ($problem->problemCode !== 'invalid_code') {
                throw $problem;
            }
            echo "That is not the code. Tries left: {$problem->attemptsLeft}.\n";
        }
    } while ($token === null);
    echo 'Verified: ', verified($token), "\n";
} catch (Problem $problem) {
    $wait = $problem->retryAfter === null ? '' : " Try again in {$problem->retryAfter} seconds.";
    fwrite(STDERR, "{$problem->problemCode}: {$problem->getMessage()}$wait\n");
    exit(1);
} catch (RuntimeException $error) {
    fwrite(STDERR, "{$error->getMessage()}\n");
    exit(1);
}
