export function FolderPage() {
  return <h1>FolderPage</h1>
}
