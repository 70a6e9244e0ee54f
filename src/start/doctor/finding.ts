/** The result of one check. */
export interface Finding {
  /** OK; WARNING: works, but may fail or be unsafe later; PROBLEM: does not work. */
  level: 'OK' | 'WARNING' | 'PROBLEM'
  /** The subject of the check, such as "Database". */
  subject: string
  /** A sentence with what was found and, for a warning or a problem, what to change. */
  text: string
}

export function ok(subject: string, text: string): Finding {
  return { level: 'OK', subject, text }
}

export function warning(subject: string, text: string): Finding {
  return { level: 'WARNING', subject, text }
}

export function problem(subject: string, text: string): Finding {
  return { level: 'PROBLEM', subject, text }
}

export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.endsWith('.') ? message : `${message}.`
}
