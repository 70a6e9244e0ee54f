/** Its message is one sentence that tells the person what to do; the start prints it and ends with status 1. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

export function isErrno(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
