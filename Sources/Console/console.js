// The first hundred sessions.

const response = await fetch(new URL("../v1/sessions", import.meta.url));
const { sessions } = await response.json();
for (const { id, reactor, version } of sessions) {
  const row = document.createElement("li");
  row.textContent = `${id}: ${reactor}, version ${version}`;
  document.getElementById("sessions").append(row);
}
