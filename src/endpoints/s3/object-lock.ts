/** S3 Object Lock: the settings of buckets, and the retention and the legal hold of objects (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html). */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { authorize, needs } from '../../auth/needs.ts'
import { AppError } from '../../errors.ts'
import { splitUrl } from '../../http/url.ts'
import { elementsOf, textOf, type XmlElement } from '../../http/xml.ts'
import {
  maxRetentionDays,
  type ObjectInput,
  type ObjectLock,
  type ObjectLockSettings,
  type Retention,
  type RetentionMode,
} from '../../services/entry-metadata/object-locks.ts'
import { readXml } from './body.ts'
import { noSuchKey, S3Error } from './errors.ts'
import { parseVersion } from './list-versions.ts'
import type { BucketCall, ObjectCall, S3Operation } from './operation.ts'
import { parseSignedQuery } from './signature.ts'
import { element, result, sendXml } from './xml.ts'

const header = {
  mode: 'x-amz-object-lock-mode',
  until: 'x-amz-object-lock-retain-until-date',
  hold: 'x-amz-object-lock-legal-hold',
} as const
const modes: readonly RetentionMode[] = ['GOVERNANCE', 'COMPLIANCE']
/** The days of a year of a retention. */
const yearDays = 365
const daysPattern = /^\d{1,5}$/
/** The form of ISO 8601 that S3 accepts. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/

const documents = new Set(['retention', 'legal-hold', 'object-lock'])

/** Finds the requests whose body is a document about locks instead of an object. */
export function hasLockDocument({ raw: { url = '' } }: FastifyRequest): boolean {
  try {
    return parseSignedQuery(splitUrl(url)[1]).some(([name]) => documents.has(name))
  } catch {
    // The request is refused for its URL.
    return false
  }
}

/** Returns the locks that the headers of a new object ask for, or null. @throws S3Error */
export function parseLock(headers: IncomingHttpHeaders): ObjectLock | null {
  const [mode, until, hold] = [headers[header.mode], headers[header.until], headers[header.hold]].map(value =>
    value === undefined ? undefined : String(value),
  )
  if (mode === undefined && until === undefined && hold === undefined) return null
  if ((mode === undefined) !== (until === undefined)) {
    throw new S3Error('InvalidArgument', `${header.mode} and ${header.until} need each other.`)
  }
  if (hold !== undefined && hold !== 'ON' && hold !== 'OFF') {
    throw new S3Error('InvalidArgument', `${header.hold} is ON or OFF.`)
  }
  const found = modes.find(each => each === mode)
  if (mode !== undefined && !found) throw new S3Error('InvalidArgument', `${header.mode} is ${modes.join(' or ')}.`)
  const retention = found && until !== undefined ? { mode: found, until: parseTime(until, 'InvalidArgument') } : null
  return { retention, isHeld: hold === 'ON' }
}

/** Returns the locks as text that is stored until the end of an upload in parts. */
export function formatLock({ retention, isHeld }: ObjectLock): string {
  const held = isHeld ? 'ON' : 'OFF'
  return retention ? `${held} ${retention.mode} ${retention.until.toISOString()}` : held
}

/** The inverse of `formatLock`. Empty text is of an upload without locks. */
export function parseStoredLock(text: string): ObjectLock | null {
  if (text === '') return null
  const [hold, mode, until] = text.split(' ')
  return parseLock({ [header.hold]: hold, [header.mode]: mode, [header.until]: until })
}

/** Requires that a new object may get the locks that its headers ask for, before its body is read. @throws S3Error, as `authorize` */
export async function requireMayLock(call: ObjectCall, asked: ObjectLock | null): Promise<void> {
  if (!asked) return
  const { services, request, providerId, path, isFolder } = call
  authorize(request.viewer, needs.hold, { providerId, path })
  if (isFolder) throw new S3Error('InvalidArgument', 'A key that ends in "/" is a folder, which has no locks.')
  await requireSettings(call)
  await services.objectLocks.requireMayLock(request.viewer, { providerId, path }, asked)
}

/** Returns the headers that show the locks of an object. */
export function lockHeaders({ retention, isHeld }: ObjectLock): Record<string, string> {
  return {
    ...(retention && { [header.mode]: retention.mode, [header.until]: retention.until.toISOString() }),
    ...(isHeld && { [header.hold]: 'ON' }),
  }
}

/** Whether the request asks to bypass retentions in the mode GOVERNANCE. */
export function bypassesGovernance(headers: IncomingHttpHeaders): boolean {
  return String(headers['x-amz-bypass-governance-retention']).toLowerCase() === 'true'
}

export const getObjectLockConfiguration: S3Operation<BucketCall> = {
  method: 'GET',
  selects: ['object-lock'],
  async run({ services, request, reply, providerId }) {
    const settings = await services.objectLocks.settings(request.viewer, providerId)
    if (!settings) {
      throw new S3Error('ObjectLockConfigurationNotFoundError', 'The bucket has no configuration of Object Lock.')
    }
    const { retention } = settings
    const rule = retention && [element('Mode', retention.mode), element('Days', retention.days)]
    return sendXml(
      reply,
      result('ObjectLockConfiguration', [
        element('ObjectLockEnabled', 'Enabled'),
        ...(rule ? [element('Rule', [element('DefaultRetention', rule)])] : []),
      ]),
    )
  },
}

/** Switches Object Lock on. A bucket without earlier versions cannot have it, as in S3. */
export const putObjectLockConfiguration: S3Operation<BucketCall> = {
  method: 'PUT',
  selects: ['object-lock'],
  audit: 'PROVIDER_UPDATE',
  authorize({ request, providerId }) {
    authorize(request.viewer, needs.manageProvider, { id: providerId })
  },
  async run({ services, request, reply, providerId }) {
    const settings = await readSettings(request)
    await services.objectLocks.configure(request.viewer, providerId, settings).catch(error => {
      if (!(error instanceof AppError) || error.reason !== 'PRECONDITION_FAILED') throw error
      throw new S3Error('InvalidBucketState', error.message, error)
    })
    return reply.send('')
  },
}

/** @throws S3Error */
async function readSettings(request: FastifyRequest): Promise<ObjectLockSettings> {
  let isEnabled = false
  let retention: ObjectLockSettings['retention'] = null
  await readXml(request, 'ObjectLockConfiguration', child => {
    if (child.name === 'ObjectLockEnabled') isEnabled = textOf(child).trim() === 'Enabled'
    if (child.name === 'Rule') retention = defaultRetention(child)
  })
  if (!isEnabled) throw new S3Error('MalformedXML', '<ObjectLockEnabled> must be "Enabled".')
  return { retention }
}

function defaultRetention(rule: XmlElement): ObjectLockSettings['retention'] {
  const [given] = elementsOf(rule)
  const texts = given?.name === 'DefaultRetention' ? textsIn(given) : new Map<string, string>()
  const [days, years] = [texts.get('Days'), texts.get('Years')]
  const number = days ?? years
  if (number === undefined || (days !== undefined && years !== undefined)) {
    throw new S3Error('MalformedXML', 'A <DefaultRetention> has a <Mode>, and <Days> or <Years>.')
  }
  const total = daysPattern.test(number) ? Number(number) * (days === undefined ? yearDays : 1) : 0
  if (total < 1 || total > maxRetentionDays) {
    throw new S3Error('InvalidRetentionPeriod', `The retention of new objects is 1 to ${maxRetentionDays} days.`)
  }
  return { mode: parseMode(texts.get('Mode')), days: total }
}

export const getObjectRetention: S3Operation<ObjectCall> = {
  method: 'GET',
  selects: ['retention'],
  takes: ['versionId'],
  async run(call) {
    const { retention } = await locksOf(call)
    await requireSettings(call)
    if (!retention) throw new S3Error('NoSuchObjectLockConfiguration', 'The object has no retention.')
    return sendXml(
      call.reply,
      result('Retention', [element('Mode', retention.mode), element('RetainUntilDate', retention.until.toISOString())]),
    )
  },
}

export const putObjectRetention: S3Operation<ObjectCall> = {
  method: 'PUT',
  selects: ['retention'],
  takes: ['versionId'],
  audit: 'HOLD_CREATE',
  authorize: requireMayHold,
  async run(call) {
    const { services, request, reply, signal } = call
    const retention = await readRetention(request)
    await requireSettings(call)
    const bypasses = bypassesGovernance(request.headers)
    await services.objectLocks.retain(request.viewer, objectOf(call), retention, { bypasses, signal })
    return reply.send('')
  },
}

/** An empty document ends the retention. @throws S3Error */
async function readRetention(request: FastifyRequest): Promise<Retention | null> {
  const texts = new Map<string, string>()
  await readXml(request, 'Retention', child => void texts.set(child.name, textOf(child).trim()))
  const until = texts.get('RetainUntilDate')
  if (texts.size === 0) return null
  if (until === undefined) throw new S3Error('MalformedXML', 'A <Retention> has a <Mode> and a <RetainUntilDate>.')
  return { mode: parseMode(texts.get('Mode')), until: parseTime(until, 'MalformedXML') }
}

export const getObjectLegalHold: S3Operation<ObjectCall> = {
  method: 'GET',
  selects: ['legal-hold'],
  takes: ['versionId'],
  async run(call) {
    const { isHeld } = await locksOf(call)
    await requireSettings(call)
    return sendXml(call.reply, result('LegalHold', [element('Status', isHeld ? 'ON' : 'OFF')]))
  },
}

export const putObjectLegalHold: S3Operation<ObjectCall> = {
  method: 'PUT',
  selects: ['legal-hold'],
  takes: ['versionId'],
  audit: 'HOLD_CREATE',
  authorize: requireMayHold,
  async run(call) {
    const { services, request, reply, signal } = call
    let status = ''
    await readXml(request, 'LegalHold', child => {
      if (child.name === 'Status') status = textOf(child).trim()
    })
    if (status !== 'ON' && status !== 'OFF') throw new S3Error('MalformedXML', 'The <Status> is ON or OFF.')
    await requireSettings(call)
    await services.objectLocks.hold(request.viewer, objectOf(call), status === 'ON', signal)
    return reply.send('')
  },
}

function requireMayHold({ request, providerId, path }: ObjectCall): void {
  authorize(request.viewer, needs.hold, { providerId, path })
}

/** @throws S3Error if the bucket has no Object Lock */
async function requireSettings({ services, request, providerId }: BucketCall): Promise<void> {
  if (await services.objectLocks.settings(request.viewer, providerId)) return
  throw new S3Error('InvalidRequest', 'The bucket has no configuration of Object Lock.')
}

/** @throws S3Error */
function objectOf({ providerId, path, query, isFolder }: ObjectCall): ObjectInput {
  if (isFolder) throw noSuchKey()
  return { providerId, path, version: parseVersion(query.get('versionId')) }
}

/** @throws S3Error if there is no such object */
async function locksOf(call: ObjectCall): Promise<ObjectLock> {
  const { services, request, signal, providerId, path } = call
  const object = objectOf(call)
  if (object.version === undefined) {
    const { kind } = await services.files.stat(request.viewer, { providerId, path }, signal)
    if (kind !== 'file') throw noSuchKey()
  }
  return services.objectLocks.of(request.viewer, object)
}

function textsIn(parent: XmlElement): Map<string, string> {
  return new Map(elementsOf(parent).map(child => [child.name, textOf(child).trim()]))
}

/** @throws S3Error */
function parseMode(text: string | undefined): RetentionMode {
  const mode = modes.find(each => each === text)
  if (mode) return mode
  throw new S3Error('MalformedXML', `The <Mode> is ${modes.join(' or ')}.`)
}

/** @throws S3Error */
function parseTime(text: string, code: 'InvalidArgument' | 'MalformedXML'): Date {
  const time = new Date(timePattern.test(text) ? text : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time
  throw new S3Error(code, 'A retention ends at a time such as "2030-01-01T00:00:00Z".')
}
