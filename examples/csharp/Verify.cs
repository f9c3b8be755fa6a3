// Verifies a phone number or an e-mail address, and judges calls of the service, with what .NET (or Mono) brings along.
//
//     WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... dotnet run -- +46701740605
//
// In a web application, Begin and Check answer your form, and Verified runs where the user is logged in.
// With the argument `webhook` it reads a call's body from the standard input, and its three headers from the environment.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

/// <summary>The members of the answers that this program reads, and of a problem.</summary>
[DataContract]
class Answer
{
    [DataMember(Name = "session_id")] public string SessionId;
    [DataMember(Name = "verify_token")] public string VerifyToken;
    [DataMember(Name = "phone")] public string Phone;
    [DataMember(Name = "email")] public string Email;
    [DataMember(Name = "code")] public string Code;
    [DataMember(Name = "detail")] public string Detail;
    [DataMember(Name = "retry_after")] public int? RetryAfter;
    [DataMember(Name = "attempts_left")] public int? AttemptsLeft;
    public bool IsTestLogin;
}

/// <summary>A refusal or failure of the service. Program against its code.</summary>
class Problem : Exception
{
    public readonly string Code;
    public readonly int? AttemptsLeft;

    public Problem(Answer told)
        : base(told.Code + ": " + told.Detail
            + (told.RetryAfter == null ? "" : " Try again in " + told.RetryAfter + " seconds."))
    {
        Code = told.Code;
        AttemptsLeft = told.AttemptsLeft;
    }
}

static class Program
{
    const int ToleranceSeconds = 300; // a recorded call is older

    // A redirect would carry the key elsewhere.
    static readonly HttpClient Client = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false })
    {
        Timeout = TimeSpan.FromSeconds(10),
    };

    static string Setting(string name)
    {
        return Environment.GetEnvironmentVariable(name) ?? throw new Exception("Set " + name + ".");
    }

    static byte[] Json(Dictionary<string, string> body)
    {
        var settings = new DataContractJsonSerializerSettings { UseSimpleDictionaryFormat = true };
        var stream = new MemoryStream();
        new DataContractJsonSerializer(body.GetType(), settings).WriteObject(stream, body);
        return stream.ToArray();
    }

    static async Task<Answer> Call(string path, Dictionary<string, string> body, string key)
    {
        var request = new HttpRequestMessage(HttpMethod.Post, Setting("WATCHWORD_URL") + path);
        request.Headers.Add("x-api-key", key);
        request.Content = new ByteArrayContent(Json(body));
        request.Content.Headers.Add("content-type", "application/json");
        var response = await Client.SendAsync(request);
        Answer answer;
        try
        {
            var content = await response.Content.ReadAsByteArrayAsync();
            answer = (Answer)new DataContractJsonSerializer(typeof(Answer)).ReadObject(new MemoryStream(content));
        }
        catch (SerializationException)
        {
            answer = new Answer();
        }
        if ((int)response.StatusCode == 200)
        {
            answer.IsTestLogin = response.Headers.Contains("x-test-login");
            return answer;
        }
        if (answer.Code == null)
            throw new Exception("The answer, with status " + (int)response.StatusCode + ", is not from Watchword.");
        throw new Problem(answer);
    }

    /// <summary>Send a code, and return the session's id.</summary>
    static async Task<string> Begin(string to)
    {
        var body = new Dictionary<string, string> { { "to", to } };
        return (await Call("/session/create", body, Setting("WATCHWORD_API_KEY"))).SessionId;
    }

    /// <summary>Check what the user typed, and return the verify token.</summary>
    static async Task<string> Check(string sessionId, string code)
    {
        var body = new Dictionary<string, string> { { "session_id", sessionId }, { "code", code } };
        return (await Call("/session/check", body, Setting("WATCHWORD_API_KEY"))).VerifyToken;
    }

    /// <summary>Redeem the token, and return who was verified. Compare it with the account to be entered.</summary>
    static async Task<string> Verified(string token)
    {
        var body = new Dictionary<string, string> { { "verify_token", token } };
        var answer = await Call("/session/verify", body, Setting("WATCHWORD_SECRET_KEY"));
        if (answer.IsTestLogin && Environment.GetEnvironmentVariable("ALLOW_TEST_LOGINS") != "1")
            throw new Exception("This is a test login; nobody gets in.");
        return answer.Phone ?? answer.Email;
    }

    /// <summary>Whether a call is the service's own and of now (Standard Webhooks). The body is as it arrived.</summary>
    static bool IsGenuine(string id, string timestamp, string signatures, byte[] body, string secret)
    {
        long at;
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        if (!long.TryParse(timestamp, out at) || Math.Abs(now - at) > ToleranceSeconds)
            return false;
        var key = Convert.FromBase64String(secret.StartsWith("whsec_") ? secret.Substring(6) : secret);
        using (var hmac = new HMACSHA256(key))
        {
            var signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
            var expected = "v1," + Convert.ToBase64String(hmac.ComputeHash(signed));
            return signatures.Split(' ').Any(given => IsSame(given, expected));
        }
    }

    // In constant time. On .NET itself CryptographicOperations.FixedTimeEquals does this.
    static bool IsSame(string given, string expected)
    {
        var difference = given.Length ^ expected.Length;
        for (var place = 0; place < given.Length && place < expected.Length; place++)
            difference |= given[place] ^ expected[place];
        return difference == 0;
    }

    static async Task<string> AskForToken(string sessionId)
    {
        while (true)
        {
            Console.Write("Code: ");
            var line = Console.ReadLine() ?? throw new Exception("No code was given.");
            try
            {
                return await Check(sessionId, line.Trim());
            }
            catch (Problem problem) when (problem.Code == "invalid_code")
            {
                Console.WriteLine("That is not the code. Tries left: " + problem.AttemptsLeft + ".");
            }
        }
    }

    static async Task Run(string[] arguments)
    {
        if (arguments.Length != 1)
            throw new Exception("Give a phone number or an e-mail address.");
        if (arguments[0] != "webhook")
        {
            Console.WriteLine("Verified: " + await Verified(await AskForToken(await Begin(arguments[0]))));
            return;
        }
        var body = new MemoryStream();
        Console.OpenStandardInput().CopyTo(body);
        var isGenuine = IsGenuine(Setting("WEBHOOK_ID"), Setting("WEBHOOK_TIMESTAMP"), Setting("WEBHOOK_SIGNATURE"),
            body.ToArray(), Setting("WEBHOOK_SECRET"));
        Console.WriteLine(isGenuine ? "genuine" : "refused");
    }

    static int Main(string[] arguments)
    {
        try
        {
            Run(arguments).GetAwaiter().GetResult();
            return 0;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
