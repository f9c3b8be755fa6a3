// A login page in React 18 or later: the form, and what the shop's server says about its token.
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import "watchword-verify";

const SERVICE = "https://codes.example.com";
const API_KEY = "ww_api_...";

/** The form as a component. `onVerified` gets the verify token. */
function Verify({ onVerified, ...attributes }) {
  const form = useRef(null);
  useEffect(() => {
    const gone = new AbortController();
    form.current.addEventListener("verified", ({ detail }) => onVerified(detail.verify_token), { signal: gone.signal });
    return () => gone.abort();
  }, [onVerified]);
  return <watchword-verify ref={form} {...attributes} />;
}

async function logIn(token) {
  const response = await fetch("/login", { method: "POST", body: JSON.stringify({ verify_token: token }) });
  if (!response.ok) throw new Error(`The shop answered ${response.status}`);
  return response.json();
}

function Login() {
  const [user, setUser] = useState(null);
  const [failure, setFailure] = useState("");
  const [onVerified] = useState(() => (token) => logIn(token).then(setUser, (error) => setFailure(error.message)));
  if (user) return <h1>Hello {user.phone ?? user.email}</h1>;
  return (
    <>
      <h1>Log in</h1>
      <Verify service={SERVICE} api-key={API_KEY} onVerified={onVerified} />
      {failure && <p role="alert">{failure}</p>}
    </>
  );
}

createRoot(document.querySelector("main")).render(<Login />);
