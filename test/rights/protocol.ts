/**
 * A model of the protocol by which server processes keep rights in memory: one process that keeps a right, one that changes
 * it, and the database between them. Each statement, response and pause is a step of its own, so an exploration of all
 * orders of the steps covers all pauses. Time passes in ticks. A promise is broken in a state where a change has returned and
 * the other process would still decide by an older value.
 */

/** The rules of the protocol. A test takes each of them out and expects a broken promise. */
export const rules = [
  'the counter is a row, so that its order is that of the commits',
  'a value is read in one statement with the counter',
  'a value older than the counter that the process has seen is not kept',
  'values older than a counter are dropped when the process sees it',
  'a lease begins before its renewal is sent',
  'a renewal locks the counter until its registration is visible',
  'a registration stores what the process has seen, not what its response will tell it',
  'a process registers before it keeps a value',
  'a change returns when each registration shows the counter or has expired',
  'registrations expire later than leases by the difference of the clocks',
  'values of an earlier epoch are dropped',
  'a registration names the epoch of the counter that the process has seen',
  'a change waits until the leases of an earlier epoch have ended',
] as const
export type Rule = (typeof rules)[number]

/** Ticks of a lease on a clock that is exact. */
const lease = 2
/** Ticks by which a slow clock of a process extends its lease. */
const drift = 1

/** A value of the right with the counter and the epoch of the database that it was read with. */
interface Version {
  value: number
  counter: number
  epoch: number
}

/** A renewal: `age` counts the ticks since it was sent. */
interface Renewal {
  step: 'sent' | 'read' | 'committed'
  age: number
  /** The latest counter that the process had seen when it sent the renewal, and its epoch. */
  stores: { seen: number; epoch: number }
  /** The content of the response. */
  counter: number
  epoch: number
}

export interface State {
  /** The committed row of the right, and the counter of its changes. */
  database: Version
  /** The counter as others read it: that of a sequence rises before the commit. */
  sequence: number
  /** The registration of the process; `age` counts the ticks since the database stored it. */
  registration: { seen: number; age: number } | null
  /** Ticks since the epoch began. */
  epochAge: number
  change: 'none' | 'locked' | 'committed' | 'returned'
  isAlive: boolean
  /** Ticks that are left of the lease, on the slowest clock. */
  leaseLeft: number
  seen: number
  epoch: number
  kept: Version | null
  /** A read of the right: the value alone is in it if the counter is read by another statement. */
  fill: 'sent' | { value: number } | Version | null
  renewal: Renewal | null
  hasFailedOver: boolean
}

export const start: State = {
  database: { value: 0, counter: 0, epoch: 0 },
  sequence: 0,
  registration: null,
  epochAge: lease + drift,
  change: 'none',
  isAlive: true,
  leaseLeft: 0,
  seen: 0,
  epoch: 0,
  kept: null,
  fill: null,
  renewal: null,
  hasFailedOver: false,
}

/** Returns whether the process would decide by a value that a returned change has replaced. */
export function isBroken({ change, leaseLeft, kept, database, isAlive }: State): boolean {
  return change === 'returned' && isAlive && leaseLeft > 0 && kept !== null && kept.value !== database.value
}

/** Returns all states that one step leads to, without the rule `without`. */
export function steps(state: State, without?: Rule): State[] {
  const has = (rule: Rule) => rule !== without
  const next: State[] = [passTime(state, has)]
  if (state.isAlive) next.push(...processSteps(state, has), { ...state, isAlive: false, kept: null, leaseLeft: 0 })
  next.push(...databaseSteps(state, has), ...changeSteps(state, has))
  if (!state.hasFailedOver) next.push(failOver(state))
  return next
}

type Has = (rule: Rule) => boolean

function passTime(state: State, has: Has): State {
  const { registration, renewal } = state
  const expiry = expiryAge(has)
  const cap = lease + drift
  return {
    ...state,
    registration: registration && { ...registration, age: Math.min(registration.age + 1, expiry) },
    epochAge: Math.min(state.epochAge + 1, cap),
    leaseLeft: Math.max(state.leaseLeft - 1, 0),
    renewal: renewal && { ...renewal, age: Math.min(renewal.age + 1, cap) },
  }
}

function expiryAge(has: Has): number {
  return has('registrations expire later than leases by the difference of the clocks') ? lease + drift : lease
}

/** The steps of the process: it sends statements and takes their responses, in any order and after any pause. */
function processSteps(state: State, has: Has): State[] {
  const { fill, renewal } = state
  const next: State[] = []
  const mayKeep = state.leaseLeft > 0 || !has('a process registers before it keeps a value')
  if (fill === null && mayKeep) next.push({ ...state, fill: 'sent' })
  if (fill !== null && typeof fill === 'object' && 'counter' in fill)
    next.push(keep({ ...state, fill: null }, fill, has))
  if (renewal === null) {
    const stores = { seen: state.seen, epoch: state.epoch }
    next.push({ ...state, renewal: { step: 'sent', age: 0, stores, counter: 0, epoch: state.epoch } })
  }
  const isRegistered = renewal?.step === 'committed'
  const isEarly = renewal?.step === 'read' && !has('a process registers before it keeps a value')
  if (renewal && (isRegistered || isEarly)) {
    const start = has('a lease begins before its renewal is sent') ? renewal.age : 0
    const seen = see(state, renewal, has)
    next.push({
      ...seen,
      leaseLeft: Math.max(seen.leaseLeft, lease + drift - start, 0),
      renewal: isRegistered ? null : renewal,
    })
  }
  // A notification carries the counter of a committed change.
  if (state.database.counter > state.seen) next.push(see(state, state.database, has))
  return next
}

/** Takes a counter and drops what is older. Epochs are names without an order, so a late response can lead back to an earlier one. */
function see(state: State, { counter, epoch }: { counter: number; epoch: number }, has: Has): State {
  if (epoch !== state.epoch) {
    const kept = has('values of an earlier epoch are dropped') ? null : state.kept
    return { ...state, epoch, seen: counter, kept, leaseLeft: kept === null ? 0 : state.leaseLeft }
  }
  if (counter <= state.seen) return state
  const drops = has('values older than a counter are dropped when the process sees it')
  const isOld = state.kept !== null && state.kept.counter < counter
  return { ...state, seen: counter, kept: drops && isOld ? null : state.kept }
}

function keep(state: State, version: Version, has: Has): State {
  const isOld = version.epoch === state.epoch && version.counter < state.seen
  if (isOld && has('a value older than the counter that the process has seen is not kept')) return state
  return { ...see(state, version, has), kept: version }
}

/** The effects of the statements of the process on the database. */
function databaseSteps(state: State, has: Has): State[] {
  const { database, fill, renewal } = state
  const next: State[] = []
  const counter = has('the counter is a row, so that its order is that of the commits')
    ? database.counter
    : state.sequence
  if (fill === 'sent') {
    const isOne = has('a value is read in one statement with the counter')
    next.push({ ...state, fill: isOne ? { ...database, counter } : { value: database.value } })
  } else if (fill !== null && !('counter' in fill)) {
    next.push({ ...state, fill: { value: fill.value, counter, epoch: database.epoch } })
  }
  if (renewal?.step === 'sent' && !(locksCounter(state, has) && state.change === 'locked')) {
    next.push({ ...state, renewal: { ...renewal, step: 'read', counter, epoch: database.epoch } })
  }
  if (renewal?.step === 'read') {
    next.push({
      ...state,
      renewal: { ...renewal, step: 'committed' },
      registration: { seen: seenBy(renewal, has), age: 0 },
    })
  }
  return next
}

/** Without its registration first, a process that joins reads the counter alone, and registers afterwards. */
function locksCounter({ registration }: State, has: Has): boolean {
  if (registration === null && !has('a process registers before it keeps a value')) return false
  return has('a renewal locks the counter until its registration is visible')
}

/** Returns the counter that a registration shows: -1 for that of another epoch. */
function seenBy({ stores, counter, epoch }: Renewal, has: Has): number {
  if (!has('a registration stores what the process has seen, not what its response will tell it')) return counter
  const isComparable = stores.epoch === epoch
  return isComparable || !has('a registration names the epoch of the counter that the process has seen')
    ? stores.seen
    : -1
}

function changeSteps(state: State, has: Has): State[] {
  const { database, registration, renewal } = state
  if (state.change === 'none') {
    const isLocked = renewal?.step === 'read' && locksCounter(state, has)
    return isLocked ? [] : [{ ...state, change: 'locked', sequence: database.counter + 1 }]
  }
  if (state.change === 'locked') {
    const counter = database.counter + 1
    return [{ ...state, change: 'committed', database: { ...database, value: database.value + 1, counter } }]
  }
  if (state.change !== 'committed') return []
  const waits = has('a change returns when each registration shows the counter or has expired')
  const isSeen = !registration || registration.seen >= database.counter || registration.age >= expiryAge(has)
  const isEpochOver =
    state.epochAge >= lease + drift || !has('a change waits until the leases of an earlier epoch have ended')
  return (isSeen || !waits) && isEpochOver ? [{ ...state, change: 'returned' }] : []
}

/**
 * Replaces the database by an earlier state of it, as a restore or a replica that lagged does: a change that returned before
 * is lost, registrations too, and the next change gets a counter that was used before.
 */
function failOver(state: State): State {
  const { database } = state
  return {
    ...state,
    database: { value: database.value + 10, counter: 0, epoch: 1 },
    sequence: 0,
    registration: null,
    epochAge: 0,
    change: 'none',
    fill: typeof state.fill === 'string' ? null : state.fill,
    renewal: state.renewal?.step === 'committed' ? state.renewal : null,
    hasFailedOver: true,
  }
}
