import { useRef, useState } from 'react'
import type { ApiError } from '../../api/request.ts'
import { errorFacts } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Icon } from '../icons.tsx'
import { nameOfPath } from '../paths.ts'
import { type UploadItem, type UploadQueue, wasSentAgain } from './queue.ts'

/** One file: how far it is, and what can be done about it. */
export function UploadRow({ item, queue, top }: { item: UploadItem; queue: UploadQueue; top: number }) {
  const name = nameOfPath(item.path)
  const percent = item.size === 0 ? (item.state === 'done' ? 100 : 0) : Math.floor((item.sent * 100) / item.size)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a list of which only a part is there
    <div role="listitem" className={`upload-row ${item.state}`} style={{ transform: `translateY(${top}px)` }}>
      <div className="upload-name">
        <span title={item.path}>{name}</span>
        {item.state !== 'done' && (
          <button
            type="button"
            className="icon-button"
            aria-label={`Cancel ${name}`}
            onClick={() => queue.cancel(item)}
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
        <State item={item} percent={percent} />
        <Choices item={item} queue={queue} />
      </div>
    </div>
  )
}

function State({ item, percent }: { item: UploadItem; percent: number }) {
  const { state, error, sent, size } = item
  switch (state) {
    case 'waiting':
      return <span>Waiting</span>
    case 'running':
      return (
        <span>
          {percent} % · {formatBytes(sent)} of {formatBytes(size)}
        </span>
      )
    case 'stalled':
      return <span>{error ? whyStalled(error) : 'Waiting'}</span>
    case 'paused':
      return <span>Paused at {percent} %</span>
    case 'conflict':
      return <span className="upload-error">The name is taken</span>
    case 'failed':
      return (
        <span className="upload-error long">
          {error?.message} {errorFacts(error)}
        </span>
      )
    case 'interrupted':
      return <span>Interrupted: choose the file again</span>
    case 'done':
      return <span>Done · {formatBytes(size)}</span>
  }
}

function whyStalled(error: ApiError): string {
  if (error.status === 0) return 'Waiting for the network'
  return wasSentAgain(error) ? 'The connection broke; going on' : 'The server is busy; trying again'
}

function Choices({ item, queue }: { item: UploadItem; queue: UploadQueue }) {
  const name = nameOfPath(item.path)
  const choice = (label: string, act: () => void) => (
    <button type="button" className="link-button" aria-label={`${label}: ${name}`} onClick={act}>
      {label}
    </button>
  )
  switch (item.state) {
    case 'waiting':
    case 'running':
    case 'stalled':
      return choice('Pause', () => queue.pause([item]))
    case 'paused':
      return choice('Resume', () => queue.resume([item]))
    case 'failed':
      return choice('Retry', () => queue.resume([item]))
    case 'conflict':
      return <ConflictChoices item={item} queue={queue} />
    case 'interrupted':
      return <FileAgain item={item} queue={queue} />
    case 'done':
      return null
  }
}

function ConflictChoices({ item, queue }: { item: UploadItem; queue: UploadQueue }) {
  const [forAll, setForAll] = useState(false)
  const others = queue.items.some(other => other !== item && other.state !== 'done')
  return (
    <span className="upload-choices">
      <button type="button" className="link-button" onClick={() => queue.resolve(item, 'REPLACE', forAll)}>
        Replace
      </button>
      <button type="button" className="link-button" onClick={() => queue.resolve(item, 'RENAME', forAll)}>
        Keep both
      </button>
      <button type="button" className="link-button" onClick={() => queue.cancel(item)}>
        Skip
      </button>
      {others && (
        <label>
          <input type="checkbox" checked={forAll} onChange={event => setForAll(event.target.checked)} /> all
        </label>
      )}
    </span>
  )
}

function FileAgain({ item, queue }: { item: UploadItem; queue: UploadQueue }) {
  const input = useRef<HTMLInputElement>(null)
  const [isOther, setOther] = useState(false)
  return (
    <span>
      {isOther && <span className="upload-error">That is another file. </span>}
      <button type="button" className="link-button" onClick={() => input.current?.click()}>
        Choose file
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={`File of ${nameOfPath(item.path)}`}
        onChange={event => {
          const file = event.target.files?.[0]
          if (file) setOther(!queue.giveAgain(item, file))
        }}
      />
    </span>
  )
}
