/** One difference between the declaration and the workspace. */
export interface Step {
  /** CREATE and CHANGE have `run`. DRIFT cannot be changed by `apply`, or is not declared. */
  kind: 'CREATE' | 'CHANGE' | 'DRIFT'
  /** The subject of the step, without secrets: `storage "Team disk"`. */
  subject: string
  /** The differences: names of properties, and values that are no secrets. */
  details: string
  run?: () => Promise<unknown>
}

export function create(subject: string, details: string, run: () => Promise<unknown>): Step {
  return { kind: 'CREATE', subject, details, run }
}

export function change(subject: string, details: string, run: () => Promise<unknown>): Step {
  return { kind: 'CHANGE', subject, details, run }
}

export function drift(subject: string, details: string): Step {
  return { kind: 'DRIFT', subject, details }
}
