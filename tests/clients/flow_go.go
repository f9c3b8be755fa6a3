// The flow, by the Go client that openapi-generator makes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	watchword "example.com/watchword"
)

func with(name string) context.Context {
	keys := map[string]watchword.APIKey{name: {Key: os.Getenv(map[string]string{"ApiKey": "API_KEY", "SecretKey": "SECRET_KEY"}[name])}}
	return context.WithValue(context.Background(), watchword.ContextAPIKeys, keys)
}

func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	configuration := watchword.NewConfiguration()
	configuration.Servers = watchword.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client := watchword.NewAPIClient(configuration)
	app, server := with("ApiKey"), with("SecretKey")

	create := watchword.NewSessionCreateRequest(os.Getenv("TO"))
	create.SetType(watchword.SMS)
	session, _, err := client.SessionAPI.CreateSession(app).SessionCreateRequest(*create).Execute()
	must(session, err)
	guess := watchword.NewSessionCheckRequest(session.SessionId, "000000")
	_, _, err = client.SessionAPI.CheckSession(app).SessionCheckRequest(*guess).Execute()
	var refused *watchword.GenericOpenAPIError
	if !errors.As(err, &refused) {
		panic(err)
	}
	wrong := refused.Model().(watchword.Problem)
	if wrong.Code != watchword.INVALID_CODE {
		panic(wrong.Code)
	}
	code := watchword.NewSessionCheckRequest(session.SessionId, os.Getenv("CODE"))
	right, _, err := client.SessionAPI.CheckSession(app).SessionCheckRequest(*code).Execute()
	must(right, err)
	token := watchword.NewSessionVerifyRequest(right.VerifyToken)
	verified, _, err := client.VerifyAPI.VerifySession(server).SessionVerifyRequest(*token).Execute()
	must(verified, err)
	send := watchword.NewManualSendRequest(os.Getenv("TO"), watchword.SMS)
	sent, _, err := client.ManualAPI.SendMessage(server).ManualSendRequest(*send).Execute()
	must(sent, err)
	message, _, err := client.ManualAPI.ReadMessage(server, sent.MessageId).Execute()
	must(message, err)
	fmt.Println(string(must(json.Marshal(map[string]any{
		"wrong":         wrong.Code,
		"attempts_left": wrong.GetAttemptsLeft(),
		"is_test":       right.IsTest,
		"phone":         verified.GetPhone(),
		"is_same":       message.Id == sent.MessageId,
		"status":        message.Status,
	}))))
}
