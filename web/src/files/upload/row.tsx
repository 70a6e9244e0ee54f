import { useRef, useState } from 'react'
import { StowageError } from '../../api/client.ts'
import { nameOfPath, parentPath } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/uploads.ts'
import { errorDetails, errorMessage } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import type { QueuedUpload, Resolution, UploadQueue } from './queue.ts'
import { holderOf, type NameHolder } from './target.ts'

/** One upload with its progress and the actions for it. */
export function UploadRow({ upload, queue, top }: { upload: QueuedUpload; queue: UploadQueue; top: number }) {
  const name = nameOfPath(upload.path)
  const percent =
    upload.size === 0 ? (upload.state === 'done' ? 100 : 0) : Math.floor((upload.sent * 100) / upload.size)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual list renders only its visible rows
    <div role="listitem" className={`upload-row ${upload.state}`} style={{ transform: `translateY(${top}px)` }}>
      <div className="upload-name">
        <span title={upload.path}>
          <bdi>{name}</bdi>
          {upload.state === 'reserved' ? (
            <span className="upload-holder">{reservedText(holderOf(upload.error), queue.userId)}</span>
          ) : (
            <span className="upload-path">{parentPath(upload.path)}</span>
          )}
        </span>
        {upload.state !== 'done' && (
          <button
            type="button"
            className="icon-button"
            aria-label={texts.cancel(name)}
            onClick={() => queue.cancel([upload])}
          >
            <Icon name="cross" />
          </button>
        )}
      </div>
      <ProgressBar label={name} percent={percent} />
      <div className="upload-state">
        <UploadStatus upload={upload} percent={percent} />
        <UploadActions upload={upload} queue={queue} />
      </div>
    </div>
  )
}

function UploadStatus({ upload, percent }: { upload: QueuedUpload; percent: number }) {
  const { state, error, sent, size } = upload
  switch (state) {
    case 'waiting':
      return <span>{texts.waiting}</span>
    case 'uploading':
      return (
        <span>
          {texts.percent(percent)} · {texts.bytesOf(sent, size)}
        </span>
      )
    case 'retrying':
      return <span>{retryReason(error)}</span>
    case 'paused':
      return <span>{texts.pausedAt(percent)}</span>
    case 'conflict':
      return <span className="upload-error">{texts.alreadyExists}</span>
    case 'reserved':
      return <span className="upload-error">{texts.nameReserved}</span>
    case 'failed':
      return (
        <span className="upload-error long" title={errorDetails(error) ?? undefined}>
          {errorMessage(error)}
        </span>
      )
    case 'interrupted':
      return <span>{texts.interruptedFile}</span>
    case 'done':
      return <span>{texts.doneFile(size)}</span>
  }
}

function retryReason(error: unknown): string {
  const reason = error instanceof StowageError && error.reason
  if (reason === 'NETWORK') return texts.waitingForNetwork
  // Browsers repeat a request after a broken connection. The server rejects it while it still has the first one.
  return reason === 'OFFSET_MISMATCH' || reason === 'REQUEST_UNDER_WAY' ? texts.continuing : texts.busy
}

/** Seconds without a byte after which an upload seems to be abandoned. */
const idleTime = 60

function reservedText(holder: NameHolder | null, userId: string): string {
  if (!holder) return texts.reservedSoonFree
  const { by, startedAt, lastActiveAt } = holder
  const who = by && (by.id === userId ? 'you' : (by.name ?? by.email))
  const idle = (Date.now() - Date.parse(lastActiveAt)) / 1000
  return texts.reserved(who, startedAt, idle > idleTime ? idle : null)
}

function UploadActions({ upload, queue }: { upload: QueuedUpload; queue: UploadQueue }) {
  const name = nameOfPath(upload.path)
  const action = (label: string, act: () => void) => (
    <button type="button" className="link-button" aria-label={common.actionOn(label, name)} onClick={act} key={label}>
      {label}
    </button>
  )
  switch (upload.state) {
    case 'waiting':
    case 'uploading':
    case 'retrying':
      return action(texts.pause, () => queue.pause([upload]))
    case 'paused':
      return action(texts.resume, () => queue.resume([upload]))
    case 'failed':
      return action(common.retry, () => queue.resume([upload]))
    case 'conflict':
      return (
        <span className="upload-choices">
          {resolutions.map(([resolution, label]) => action(label, () => queue.resolve([upload], resolution)))}
        </span>
      )
    case 'reserved': {
      const holder = holderOf(upload.error)
      return (
        <span className="upload-choices">
          {holder
            ? action(texts.takeOver, () => queue.takeOver(upload, holder))
            : action(common.retry, () => queue.resume([upload]))}
          {resolutions
            .filter(([resolution]) => resolution !== 'REPLACE')
            .map(([resolution, label]) => action(label, () => queue.resolve([upload], resolution)))}
        </span>
      )
    }
    case 'interrupted':
      return <FileChooser upload={upload} queue={queue} />
    case 'done':
      return null
  }
}

const resolutions: readonly (readonly [Resolution, string])[] = [
  ['REPLACE', texts.replace],
  ['RENAME', texts.keepBoth],
  ['SKIP', texts.skip],
]

function FileChooser({ upload, queue }: { upload: QueuedUpload; queue: UploadQueue }) {
  const input = useRef<HTMLInputElement>(null)
  const [isDifferent, setDifferent] = useState(false)
  return (
    <span>
      {isDifferent && <span className="upload-error">{texts.differentFile} </span>}
      <button type="button" className="link-button" onClick={() => input.current?.click()}>
        {texts.chooseFile}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={texts.fileFor(nameOfPath(upload.path))}
        onChange={event => {
          const file = event.target.files?.[0]
          if (file) setDifferent(!queue.attachFile(upload, file))
        }}
      />
    </span>
  )
}
