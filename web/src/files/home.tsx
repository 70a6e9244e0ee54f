export function FilesHome() {
  return <h1>FilesHome</h1>
}
