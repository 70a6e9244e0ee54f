import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/audit.ts'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogEnd } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { notify } from '../../ui/toasts.tsx'
import { type AuditEvent, exportEvents, listEvents, maxExported } from './events.ts'
import { FilterForm, filterOf, searchOf, toInput } from './filter-form.tsx'

const pageSize = 50

export function AuditPage() {
  return (
    <AdminOnly title={texts.auditLog}>
      <AuditLog />
    </AdminOnly>
  )
}

function AuditLog() {
  const [search, setSearch] = useSearchParams()
  const draft = useMemo(() => filterOf(search), [search])
  const { query, nodes: events } = usePages([...queryKeys.auditEvents, draft], (after, signal) =>
    listEvents(toInput(draft), { first: pageSize, after }, signal),
  )
  const download = useMutation({
    mutationFn: () => exportEvents(toInput(draft), new AbortController().signal),
    onSuccess: ({ hasMore }) => {
      if (hasMore) notify(texts.onlyNewest(maxExported))
    },
  })
  return (
    <>
      <PageHead title={texts.auditLog}>
        <Button onPress={() => download.mutate()} isPending={download.isPending}>
          {texts.downloadCsv}
        </Button>
      </PageHead>
      <p className="help">{texts.auditHelp}</p>
      <FilterForm draft={draft} onChange={changed => setSearch(searchOf(changed), { replace: true })} />
      {download.error && <ErrorBox error={download.error} />}
      <LoadState query={query} label={texts.loadingEvents} />
      {events?.length === 0 && <p role="status">{texts.noEvents}</p>}
      {events && events.length > 0 && <EventTable events={events} />}
      <ShowMore query={query} />
    </>
  )
}

function EventTable({ events }: { events: readonly AuditEvent[] }) {
  const [shown, setShown] = useState<AuditEvent | null>(null)
  return (
    <>
      <RowTable label={texts.auditLog} columns={[texts.time, texts.member, texts.action, texts.object]}>
        {events.map(event => (
          <Row key={event.id} event={event} onShow={() => setShown(event)} />
        ))}
      </RowTable>
      {shown && <EventDialog event={shown} onClose={() => setShown(null)} />}
    </>
  )
}

function Row({ event, onShow }: { event: AuditEvent; onShow: () => void }) {
  const { id, at, action, result, count } = event
  const actionId = `event-${id}`
  return (
    <tr>
      <td>{formatMinute(at)}</td>
      <td className="person-cell" data-label={texts.member}>
        {whoOf(event)}
      </td>
      <td id={actionId}>
        <span className="main-cell">{texts.actions[action]}</span>
        {count > 1 && ` ${texts.times(count)}`} {result !== 'OK' && <ResultBadge result={result} />}
      </td>
      <td data-label={texts.object}>{objectOf(event)}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={onShow} aria-describedby={actionId}>
            {texts.details}
          </Button>
        </div>
      </td>
    </tr>
  )
}

function ResultBadge({ result }: { result: string }) {
  return <span className="badge warn">{result === 'CUT' ? texts.outcomes.CUT : texts.refused(result)}</span>
}

function whoOf({ userName, userEmail, address }: AuditEvent): string {
  return userName ?? userEmail ?? (address === '' ? texts.server : texts.nobody)
}

/** Names what an event is about: a path, a storage, or another object. */
function objectOf({ providerId, providerName, path, toProviderName, toPath, subjectKind }: AuditEvent): string {
  if (providerId === null) return subjectKind ? texts.subjects[subjectKind] : ''
  const from = `${providerName ?? texts.formerStorage}${path === null ? '' : ` ${path}`}`
  return toPath === null ? from : texts.fromTo(from, `${toProviderName ?? ''} ${toPath}`.trim())
}

function EventDialog({ event, onClose }: { event: AuditEvent; onClose: () => void }) {
  const credentials = {
    SESSION: texts.session,
    API_KEY: texts.apiKey(event.credentialPrefix ?? ''),
    SHARE: texts.subjects.SHARE,
    SCIM_TOKEN: texts.subjects.SCIM_TOKEN,
  }
  const credential = event.credentialKind && credentials[event.credentialKind]
  const facts: readonly (readonly [string, string | null])[] = [
    [texts.time, formatMinute(event.at)],
    [texts.member, [event.userName, event.userEmail].filter(Boolean).join(' · ') || whoOf(event)],
    [texts.credential, credential],
    [texts.address, event.address],
    [texts.result, event.result],
    [texts.object, objectOf(event)],
    [texts.size, event.bytes === null ? null : formatBytes(event.bytes)],
    [texts.count, event.count > 1 ? String(event.count) : null],
    [texts.request, event.requestId],
  ]
  const more = JSON.stringify(event.details, null, 2)
  return (
    <Dialog title={texts.actions[event.action]} size="large" onClose={onClose}>
      <dl className="facts">
        {facts.map(([title, text]) =>
          text ? (
            <div key={title} className="fact">
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ) : null,
        )}
      </dl>
      {more !== '{}' && (
        <>
          <h3>{texts.details}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls */}
          <pre className="event-details" tabIndex={0}>
            {more}
          </pre>
        </>
      )}
      <DialogEnd onClose={onClose} />
    </Dialog>
  )
}
