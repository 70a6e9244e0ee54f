import { useRef, useState } from 'react'
import { StowageError } from '../../api/client.ts'
import { nameOfPath, parentPath } from '../../api/paths.ts'
import { errorDetails } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import type { QueuedUpload, Resolution, UploadQueue } from './queue.ts'

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
          {name}
          <span className="upload-path">{parentPath(upload.path)}</span>
        </span>
        {upload.state !== 'done' && (
          <button
            type="button"
            className="icon-button"
            aria-label={`Cancel ${name}`}
            onClick={() => queue.cancel([upload])}
          >
            <Icon name="cross" />
          </button>
        )}
      </div>
      <div
        className="progress-track"
        role="progressbar"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <div className="progress-fill" style={{ width: `${percent}%` }} />
      </div>
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
      return <span>Waiting</span>
    case 'uploading':
      return (
        <span>
          {percent}% · {formatBytes(sent)} of {formatBytes(size)}
        </span>
      )
    case 'retrying':
      return <span>{retryReason(error)}</span>
    case 'paused':
      return <span>Paused at {percent}%</span>
    case 'conflict':
      return <span className="upload-error">Already exists</span>
    case 'failed':
      return (
        <span className="upload-error long">
          {error instanceof Error && error.message} {errorDetails(error)}
        </span>
      )
    case 'interrupted':
      return <span>Interrupted. Choose the file again.</span>
    case 'done':
      return <span>Done · {formatBytes(size)}</span>
  }
}

function retryReason(error: unknown): string {
  const reason = error instanceof StowageError && error.reason
  if (reason === 'NETWORK') return 'Waiting for the network'
  // Browsers repeat a request after a broken connection. The server rejects it while it still has the first one.
  return reason === 'OFFSET_MISMATCH' || reason === 'REQUEST_UNDER_WAY'
    ? 'The connection was lost. Continuing…'
    : 'The server is busy. Retrying…'
}

function UploadActions({ upload, queue }: { upload: QueuedUpload; queue: UploadQueue }) {
  const name = nameOfPath(upload.path)
  const action = (label: string, act: () => void) => (
    <button type="button" className="link-button" aria-label={`${label}: ${name}`} onClick={act} key={label}>
      {label}
    </button>
  )
  switch (upload.state) {
    case 'waiting':
    case 'uploading':
    case 'retrying':
      return action('Pause', () => queue.pause([upload]))
    case 'paused':
      return action('Resume', () => queue.resume([upload]))
    case 'failed':
      return action('Retry', () => queue.resume([upload]))
    case 'conflict':
      return (
        <span className="upload-choices">
          {resolutions.map(([resolution, label]) => action(label, () => queue.resolve([upload], resolution)))}
        </span>
      )
    case 'interrupted':
      return <FileChooser upload={upload} queue={queue} />
    case 'done':
      return null
  }
}

const resolutions: readonly (readonly [Resolution, string])[] = [
  ['REPLACE', 'Replace'],
  ['RENAME', 'Keep both'],
  ['SKIP', 'Skip'],
]

function FileChooser({ upload, queue }: { upload: QueuedUpload; queue: UploadQueue }) {
  const input = useRef<HTMLInputElement>(null)
  const [isDifferent, setDifferent] = useState(false)
  return (
    <span>
      {isDifferent && <span className="upload-error">This is a different file. </span>}
      <button type="button" className="link-button" onClick={() => input.current?.click()}>
        Choose file
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={`File for ${nameOfPath(upload.path)}`}
        onChange={event => {
          const file = event.target.files?.[0]
          if (file) setDifferent(!queue.attachFile(upload, file))
        }}
      />
    </span>
  )
}
