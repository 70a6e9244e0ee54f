/** Deletes one object, or those that the body lists. */
import { formatKeptId } from '../../auth/id.ts'
import { grantBases } from '../../auth/policy.ts'
import { AppError, type Reason, toAppError } from '../../errors.ts'
import { namesTag } from '../../http/content/conditions.ts'
import { elementsOf, textOf, type XmlElement } from '../../http/xml.ts'
import { readXml } from './body.ts'
import { emptyTag, listedTag, quoteTag, type Tagged } from './conditions.ts'
import { codeOf, explainBucket, noSuchKey, S3Error } from './errors.ts'
import { parseVersion } from './list-versions.ts'
import { bypassesGovernance } from './object-lock.ts'
import type { BucketCall, ObjectCall, S3Operation } from './operation.ts'
import { type ObjectPath, parseKey } from './request.ts'
import { element, result, sendXml, type Xml } from './xml.ts'

const maxKeys = 1000
/** Conditions that S3 itself has for directory buckets only. */
const otherConditions = ['x-amz-if-match-last-modified-time', 'x-amz-if-match-size']
const otherConditionElements = ['LastModifiedTime', 'Size']
/** The number of objects that one request deletes at the same time. */
const atOnce = 16

/** There is no such object, so it counts as deleted: it is missing, or of the other kind, or a folder with objects below it. */
const missing: ReadonlySet<Reason> = new Set(['NOT_FOUND', 'NOT_A_FILE', 'NOT_A_FOLDER', 'NOT_EMPTY'])

/** An object goes to the trash, unless the request names a version: S3 deletes that for good. "null" is the object as it is now, without its earlier versions. */
export const deleteObject: S3Operation<ObjectCall> = {
  method: 'DELETE',
  takes: ['versionId'],
  audit: 'DELETE',
  async run(call) {
    const { headers } = call.request
    const version = call.query.get('versionId')
    const earlier = parseVersion(version)
    const other = otherConditions.find(name => headers[name] !== undefined)
    if (other !== undefined) throw onlyTags(other)
    const bypasses = bypassesGovernance(headers)
    const removal = { permanent: version !== undefined, match: headers['if-match'], bypasses }
    await (earlier === undefined ? remove(call, call, removal) : removeVersion(call, call.path, earlier, removal))
    return call.reply.status(204).send()
  },
}

/** A version that is not kept any more counts as deleted. */
async function removeVersion(
  { services, request, providerId, signal }: BucketCall,
  path: string,
  version: string,
  { match, bypasses }: Removal,
): Promise<void> {
  if (match !== undefined) throw new S3Error('NotImplemented', 'This server deletes versions without conditions.')
  const id = formatKeptId({ id: version, providerId, path })
  await services.versions.delete(request.viewer, { id, bypassesGovernance: bypasses }, signal).catch(error => {
    if (toAppError(error).reason !== 'NOT_FOUND') throw error
  })
}

interface Removal {
  permanent: boolean
  /** As in If-Match. */
  match: string | undefined
  /** Whether a retention in the mode GOVERNANCE ends before. */
  bypasses: boolean
}

/** Deletes a file or, for a key that ends in "/", an empty folder. @throws as `Files.delete` */
async function remove(call: BucketCall, { path, isFolder }: ObjectPath, removal: Removal): Promise<void> {
  const { services, request, providerId, signal } = call
  const { permanent, match } = removal
  const only = isFolder ? ('directory' as const) : ('file' as const)
  const tagIn = (entry: Tagged) => (isFolder ? emptyTag : listedTag(entry))
  const condition = match === undefined ? undefined : (entry: Tagged) => namesTag(match, tagIn(entry), 'strong')
  const options = { recursive: false, only, permanent, keepsVersions: true, overLocked: true, condition }
  try {
    const removing = () => services.files.delete(request.viewer, { providerId, path }, options, signal)
    if (permanent && !isFolder && removal.bypasses) {
      await services.objectLocks.bypassing(request.viewer, { providerId, path }, signal, removing)
    } else await removing()
  } catch (error) {
    const explained = explainBucket(error, providerId)
    if (!(explained instanceof AppError) || explained !== error || !missing.has(explained.reason)) throw explained
    if (condition) throw noSuchKey(error)
    if (permanent && !isFolder) await refuseMarker(call, path)
  }
}

/** The version "null" of an object that is deleted is its delete marker, if there are earlier versions. @throws S3Error */
async function refuseMarker({ services, request, providerId, signal }: BucketCall, path: string): Promise<void> {
  const { items } = await services.versions.list(request.viewer, { providerId, path }, { first: 1 }, null, signal)
  if (items.length === 0) return
  const message =
    'This server does not delete delete markers: put the content of a version again, or delete all versions.'
  throw new S3Error('NotImplemented', message)
}

export const deleteObjects: S3Operation<BucketCall> = {
  method: 'POST',
  audit: 'DELETE',
  selects: ['delete'],
  authorize({ request, providerId }) {
    grantBases(request.viewer, 'write', providerId)
  },
  async run(call) {
    const { keys, isQuiet } = await readDelete(call)
    const results: Xml[] = []
    const remaining = keys.values()
    const work = async () => {
      for (const key of remaining) {
        const failure = await removeKey(call, key).then(
          () => null,
          error => toAppError(error),
        )
        if (call.signal.aborted) return
        if (failure instanceof S3Error && failure.s3Code === 'NoSuchBucket') throw failure
        if (failure) results.push(failed(key, failure))
        else if (!isQuiet) results.push(element('Deleted', [element('Key', key.name), ...versionIn(key)]))
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return sendXml(call.reply, result('DeleteResult', results))
  },
}

interface DeletedKey extends Removal {
  name: string
  /** The version to delete; undefined for the object as it is now. */
  version: string | undefined
}

async function removeKey(call: BucketCall, { name, version, ...removal }: DeletedKey): Promise<void> {
  const at = parseKey(name)
  const id = parseVersion(version)
  await (id === undefined ? remove(call, at, removal) : removeVersion(call, at.path, id, removal))
}

function versionIn({ version }: DeletedKey): Xml[] {
  return version === undefined ? [] : [element('VersionId', version)]
}

function failed(key: DeletedKey, error: AppError): Xml {
  return element('Error', [
    element('Key', key.name),
    ...versionIn(key),
    element('Code', codeOf(error)),
    element('Message', error.message),
    element('Reason', error.reason),
  ])
}

/** @throws S3Error */
async function readDelete({ request }: BucketCall): Promise<{ keys: DeletedKey[]; isQuiet: boolean }> {
  const keys: DeletedKey[] = []
  let isQuiet = false
  const bypasses = bypassesGovernance(request.headers)
  await readXml(request, 'Delete', child => {
    if (child.name === 'Object') keys.push({ ...keyOf(child), bypasses })
    else if (child.name === 'Quiet') isQuiet = textOf(child).trim() === 'true'
    if (keys.length > maxKeys) throw wrongNumber()
  })
  if (keys.length === 0) throw wrongNumber()
  return { keys, isQuiet }
}

function wrongNumber(): S3Error {
  return new S3Error('MalformedXML', `A request deletes 1 to ${maxKeys} objects.`)
}

function keyOf(object: XmlElement): Omit<DeletedKey, 'bypasses'> {
  const texts = new Map(elementsOf(object).map(child => [child.name, textOf(child)]))
  const version = texts.get('VersionId') || undefined
  parseVersion(version)
  const other = otherConditionElements.find(name => texts.has(name))
  if (other !== undefined) throw onlyTags(other)
  const [name, tag] = [texts.get('Key'), texts.get('ETag')]
  if (name === undefined) throw new S3Error('MalformedXML', 'An <Object> has no <Key>.')
  return {
    name,
    version,
    permanent: version !== undefined,
    match: tag === undefined ? undefined : quoteTag(tag.trim()),
  }
}

function onlyTags(condition: string): S3Error {
  return new S3Error('NotImplemented', `This server compares only ETags before it deletes: leave out ${condition}.`)
}
