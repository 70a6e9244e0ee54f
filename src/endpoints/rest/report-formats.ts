/** Writes a report of kept copies in the formats that people file. */
import type { ReportFinding } from '../../services/jobs/copies/report.ts'
import type { CopyReportContent } from '../../services/jobs/copies/reports.ts'

interface ReportFormat {
  type: string
  extension: string
  write(report: CopyReportContent): AsyncGenerator<string, void, undefined>
}

/** The facts about a finding that all formats have. */
function rowOf(
  { kind, isRestored, providerId, path, from, foundAt, reason, message }: ReportFinding,
  names: CopyReportContent['names'],
) {
  const storageOf = (id: string) => names.get(id) ?? null
  return {
    kind,
    isRestored,
    storage: storageOf(providerId),
    providerId,
    path,
    from: from && `${storageOf(from.providerId) ?? from.providerId}:${from.path}`,
    foundAt: foundAt?.toISOString() ?? null,
    reason,
    message,
  }
}

async function* writeJson({
  job,
  locations,
  names,
  unlisted,
  findings,
}: CopyReportContent): AsyncGenerator<string, void, undefined> {
  const { id, state, keeping, startedAt, endedAt } = job
  const settings = { repair: keeping?.repair, recheckDays: keeping?.recheckDays }
  const head = { id, state, ...settings, startedAt, endedAt, locations, unlistedFindings: unlisted }
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "findings": [`
  let separator = ''
  for await (const finding of findings) {
    yield `${separator}\n    ${JSON.stringify(rowOf(finding, names))}`
    separator = ','
  }
  yield '\n  ]\n}\n'
}

const columns = ['kind', 'isRestored', 'storage', 'path', 'from', 'foundAt', 'reason', 'message'] as const

async function* writeCsv({ names, unlisted, findings }: CopyReportContent): AsyncGenerator<string, void, undefined> {
  yield `${columns.join(',')}\r\n`
  for await (const finding of findings) {
    const row = rowOf(finding, names)
    yield `${columns.map(name => field(row[name])).join(',')}\r\n`
  }
  if (unlisted > 0) yield `${columns.map(name => field(name === 'message' ? leftOut(unlisted) : null)).join(',')}\r\n`
}

function leftOut(unlisted: number): string {
  return `The counts include ${unlisted} more, for which this list has no room.`
}

/** Quotes a field (RFC 4180). A spreadsheet would run a text that begins like a formula. */
function field(value: string | boolean | null): string {
  const text = line(String(value ?? ''))
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

async function* writeText({
  job,
  locations,
  names,
  unlisted,
  findings,
}: CopyReportContent): AsyncGenerator<string, void, undefined> {
  const { keeping } = job
  yield `Report of kept copies ${job.id}\n`
  yield `State: ${job.state}\nStarted: ${shown(job.startedAt)}\nEnded: ${shown(job.endedAt)}\n`
  yield `Files are read again after ${keeping?.recheckDays} days. Repair is ${keeping?.repair ? 'on' : 'off'}.\n\n`
  for (const [source, each] of locations.entries()) {
    const { storage, providerId, path, readFiles, readBytes, copiedFiles, copiedBytes } = each
    yield `${source === 0 ? 'Folder' : `Copy ${source}`}: ${line(`${storage ?? providerId}:${path}`)}\n`
    yield `  read ${readFiles} files (${readBytes} bytes), copied ${copiedFiles} files (${copiedBytes} bytes)\n`
    yield `  damaged ${each.damaged}, missing ${each.missing}, changed ${each.changed}, restored ${each.restored}\n`
  }
  yield '\nFindings:\n'
  let isEmpty = true
  for await (const finding of findings) {
    const { kind, isRestored, storage, providerId, path, foundAt, message } = rowOf(finding, names)
    yield `${foundAt ?? '-'}  ${kind}${isRestored ? ', restored' : ''}  ${line(`${storage ?? providerId}:${path}`)}\n  ${line(message)}\n`
    isEmpty = false
  }
  if (unlisted > 0) yield `${leftOut(unlisted)}\n`
  else if (isEmpty) yield 'None.\n'
}

function shown(time: Date | null): string {
  return time?.toISOString() ?? '-'
}

/** A name can contain line breaks, which would look like another line of the report. */
function line(value: string): string {
  return value.replace(/\p{Cc}/gu, '?')
}

export const reportFormats = {
  json: { type: 'application/json; charset=utf-8', extension: 'json', write: writeJson },
  csv: { type: 'text/csv; charset=utf-8', extension: 'csv', write: writeCsv },
  text: { type: 'text/plain; charset=utf-8', extension: 'txt', write: writeText },
} as const satisfies Record<string, ReportFormat>
