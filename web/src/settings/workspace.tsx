export function WorkspacePage() {
  return <h1>WorkspacePage</h1>
}
