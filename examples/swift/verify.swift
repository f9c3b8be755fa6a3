// Verifies a phone number or an e-mail address, with Swift 5.7 or later and Foundation, on a server or a Mac.
//
//     WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... swift verify.swift +46701740605
//
// An app makes the first two calls with the API key, and hands the token to your server, where `verified` belongs: the
// secret key is in no app. With the argument `webhook` it reads a call's body from the standard input, and its three
// headers from the environment; that takes Apple's swift-crypto elsewhere than on Apple's systems.
//
// This one is not run by our tests: they have no Swift.

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif

let toleranceSeconds = 300.0 // a recorded call is older

struct Session: Decodable { let session_id: String }
struct Checked: Decodable { let verify_token: String }
struct Verified: Decodable { let phone: String?; let email: String? }

/// A refusal or failure of the service. Program against its code.
struct Problem: Decodable, Error {
    let code: String
    let detail: String
    let retry_after: Int?
    let attempts_left: Int?
}

struct Failure: Error { let sentence: String }

/// Refuses redirects, which would carry the key elsewhere.
final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

let session = URLSession(configuration: .ephemeral, delegate: NoRedirects(), delegateQueue: nil)

func setting(_ name: String) throws -> String {
    guard let text = ProcessInfo.processInfo.environment[name] else { throw Failure(sentence: "Set \(name).") }
    return text
}

func call<Answer: Decodable>(
    _ path: String, _ body: [String: String], key: String, as kind: Answer.Type
) throws -> (Answer, HTTPURLResponse) {
    guard let url = URL(string: try setting("WATCHWORD_URL") + path) else { throw Failure(sentence: "WATCHWORD_URL is none.") }
    var request = URLRequest(url: url, timeoutInterval: 10)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "content-type")
    request.setValue(key, forHTTPHeaderField: "x-api-key")
    request.httpBody = try JSONEncoder().encode(body)
    let done = DispatchSemaphore(value: 0)
    var outcome: (Data?, URLResponse?, Error?) = (nil, nil, nil)
    session.dataTask(with: request) { data, response, error in
        outcome = (data, response, error)
        done.signal()
    }.resume()
    done.wait()
    if let error = outcome.2 { throw error }
    guard let data = outcome.0, let response = outcome.1 as? HTTPURLResponse else {
        throw Failure(sentence: "The service did not answer.")
    }
    if response.statusCode == 200 { return (try JSONDecoder().decode(kind, from: data), response) }
    if let problem = try? JSONDecoder().decode(Problem.self, from: data) { throw problem }
    throw Failure(sentence: "The answer, with status \(response.statusCode), is not from Watchword.")
}

/// Send a code, and return the session's id.
func begin(_ to: String) throws -> String {
    try call("/session/create", ["to": to], key: setting("WATCHWORD_API_KEY"), as: Session.self).0.session_id
}

/// Check what the user typed, and return the verify token.
func check(_ sessionId: String, _ code: String) throws -> String {
    let body = ["session_id": sessionId, "code": code]
    return try call("/session/check", body, key: setting("WATCHWORD_API_KEY"), as: Checked.self).0.verify_token
}

/// Redeem the verify token, and return who was verified. Compare it with the account that is to be entered.
func verified(_ token: String) throws -> String {
    let body = ["verify_token": token]
    let (answer, response) = try call("/session/verify", body, key: setting("WATCHWORD_SECRET_KEY"), as: Verified.self)
    let isTest = response.value(forHTTPHeaderField: "x-test-login") != nil
    if isTest, ProcessInfo.processInfo.environment["ALLOW_TEST_LOGINS"] != "1" {
        throw Failure(sentence: "This is a test login; nobody gets in.")
    }
    guard let recipient = answer.phone ?? answer.email else { throw Failure(sentence: "Nobody was verified.") }
    return recipient
}

/// Return whether a call is the service's own and of now (Standard Webhooks). The body is as it arrived.
func isGenuine(id: String, timestamp: String, signatures: String, body: Data, secret: String) -> Bool {
    let encoded = secret.hasPrefix("whsec_") ? String(secret.dropFirst(6)) : secret
    guard let at = Double(timestamp), abs(Date().timeIntervalSince1970 - at) <= toleranceSeconds,
        let key = Data(base64Encoded: encoded)
    else { return false }
    let signed = Data("\(id).\(timestamp).".utf8) + body
    return signatures.split(separator: " ").contains { given in
        guard given.hasPrefix("v1,"), let code = Data(base64Encoded: String(given.dropFirst(3))) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: SymmetricKey(data: key))
    }
}

func askForToken(_ sessionId: String) throws -> String {
    while true {
        print("Code: ", terminator: "")
        guard let line = readLine() else { throw Failure(sentence: "No code was given.") }
        do {
            return try check(sessionId, line.trimmingCharacters(in: .whitespaces))
        } catch let problem as Problem where problem.code == "invalid_code" {
            print("That is not the code. Tries left: \(problem.attempts_left ?? 0).")
        }
    }
}

do {
    guard let argument = CommandLine.arguments.dropFirst().first else {
        throw Failure(sentence: "Give a phone number or an e-mail address.")
    }
    if argument == "webhook" {
        let isOurs = isGenuine(
            id: try setting("WEBHOOK_ID"), timestamp: try setting("WEBHOOK_TIMESTAMP"),
            signatures: try setting("WEBHOOK_SIGNATURE"), body: FileHandle.standardInput.readDataToEndOfFile(),
            secret: try setting("WEBHOOK_SECRET"))
        print(isOurs ? "genuine" : "refused")
    } else {
        print("Verified: \(try verified(askForToken(begin(argument))))")
    }
} catch let problem as Problem {
    let wait = problem.retry_after.map { " Try again in \($0) seconds." } ?? ""
    FileHandle.standardError.write(Data("\(problem.code): \(problem.detail)\(wait)\n".utf8))
    exit(1)
} catch {
    let sentence = (error as? Failure)?.sentence ?? error.localizedDescription
    FileHandle.standardError.write(Data("\(sentence)\n".utf8))
    exit(1)
}
