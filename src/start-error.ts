/** An error that the operator can fix before the server starts. The message is one sentence that says how. */
export class StartError extends Error {
  override name = 'StartError'
}
