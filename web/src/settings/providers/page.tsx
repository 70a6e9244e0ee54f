export function ProvidersPage() {
  return <h1>ProvidersPage</h1>
}
