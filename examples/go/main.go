// Verifies a phone number or an e-mail address, with the standard library of Go 1.18 or later.
//
//	WATCHWORD_URL=https://codes.example.com WATCHWORD_API_KEY=ww_api_... WATCHWORD_SECRET_KEY=ww_secret_... go run main.go +46701740605
//
// In a web application, begin and check answer your form, and verified runs where the user is logged in.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

const timeout = 10 * time.Second

// Problem is a refusal or failure of the service. Program against Code.
type Problem struct {
	Code         string `json:"code"`
	Detail       string `json:"detail"`
	RetryAfter   *int   `json:"retry_after"`
	AttemptsLeft int    `json:"attempts_left"`
}

func (problem *Problem) Error() string {
	if problem.RetryAfter != nil {
		return fmt.Sprintf("%s: %s Try again in %d seconds.", problem.Code, problem.Detail, *problem.RetryAfter)
	}
	return problem.Code + ": " + problem.Detail
}

var client = http.Client{
	Timeout: timeout,
	// A redirect would carry the key elsewhere.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// call posts a body, reads the answer into answer, and returns its headers.
func call(path string, body map[string]string, key string, answer any) (http.Header, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest("POST", os.Getenv("WATCHWORD_URL")+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return response.Header, json.NewDecoder(response.Body).Decode(answer)
	}
	problem := &Problem{}
	if err := json.NewDecoder(response.Body).Decode(problem); err != nil || problem.Code == "" {
		return nil, fmt.Errorf("the answer, with status %d, is not from Watchword", response.StatusCode)
	}
	return nil, problem
}

// begin sends a code and returns the session's id.
func begin(to string) (string, error) {
	var session struct {
		ID string `json:"session_id"`
	}
	_, err := call("/session/create", map[string]string{"to": to}, os.Getenv("WATCHWORD_API_KEY"), &session)
	return session.ID, err
}

// check checks what the user typed and returns the verify token.
func check(sessionID, code string) (string, error) {
	var checked struct {
		Token string `json:"verify_token"`
	}
	body := map[string]string{"session_id": sessionID, "code": code}
	_, err := call("/session/check", body, os.Getenv("WATCHWORD_API_KEY"), &checked)
	return checked.Token, err
}

// verified redeems the verify token and returns who was verified. Compare it with the account that is to be entered.
func verified(token string) (string, error) {
	var answer struct{ Phone, Email string }
	body := map[string]string{"verify_token": token}
	headers, err := call("/session/verify", body, os.Getenv("WATCHWORD_SECRET_KEY"), &answer)
	if err != nil {
		return "", err
	}
	if headers.Get("X-Test-Login") != "" && os.Getenv("ALLOW_TEST_LOGINS") != "1" {
		return "", errors.New("this is a test login; nobody gets in")
	}
	return answer.Phone + answer.Email, nil
}

// askForToken asks for the code until it is right.
func askForToken(sessionID string) (string, error) {
	lines := bufio.NewScanner(os.Stdin)
	for fmt.Print("Code: "); lines.Scan(); fmt.Print("Code: ") {
		token, err := check(sessionID, strings.TrimSpace(lines.Text()))
		var problem *Problem
		if !errors.As(err, &problem) || problem.Code != "invalid_code" {
			return token, err
		}
		fmt.Printf("That is not the code. Tries left: %d.\n", problem.AttemptsLeft)
	}
	return "", errors.New("no code was given")
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("give a phone number or an e-mail address")
	}
	sessionID, err := begin(os.Args[1])
	if err != nil {
		return err
	}
	token, err := askForToken(sessionID)
	if err != nil {
		return err
	}
	recipient, err := verified(token)
	if err != nil {
		return err
	}
	fmt.Println("Verified:", recipient)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
