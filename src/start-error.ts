/** Something that the operator can mend before the server starts; the message is one sentence that says how. */
export class StartError extends Error {
  override name = 'StartError'
}
