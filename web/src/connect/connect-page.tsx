export function ConnectPage() {
  return <h1>ConnectPage</h1>
}
