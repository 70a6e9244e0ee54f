/** The comments on a file or folder. Its location enters; the section reads and changes the comments itself. */
import { useEffect, useRef, useState } from 'react'
import type { StorageLocation } from '../../api/locations.ts'
import { usePermissions, useSession } from '../../api/session.ts'
import { texts } from '../../texts/comments.ts'
import { common } from '../../texts/common.ts'
import { formatNumber } from '../../texts/format.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { ShowMore } from '../../ui/pages.tsx'
import { Time } from '../../ui/time.tsx'
import { CommentField } from './comment-field.tsx'
import { partsOf, toTyped } from './mention-text.ts'
import { type Comment, useComments, useDeleteComment, useSaveComment } from './operations.ts'
import './comments.css'

export function Comments({ location }: { location: StorageLocation }) {
  const { canWrite } = usePermissions()
  const { query, comments, count } = useComments(location)
  const save = useSaveComment(location)
  const section = useRef<HTMLElement>(null)
  // The comment that was deleted last, whose buttons leave with it.
  const deleted = useRef<{ id: string; index: number } | null>(null)
  useEffect(() => {
    if (!deleted.current || !comments || comments.some(({ id }) => id === deleted.current?.id)) return
    const { index } = deleted.current
    deleted.current = null
    const items = section.current?.querySelectorAll<HTMLElement>('.comment') ?? []
    const next = items[index] ?? items[index - 1] ?? section.current?.querySelector('textarea')
    next?.focus()
  }, [comments])
  return (
    <section ref={section} aria-label={texts.comments} className="comments">
      <h3>
        {texts.comments}
        {count > 0 && <span className="comment-count">{formatNumber(count)}</span>}
      </h3>
      {canWrite && (
        <CommentField
          label={texts.write}
          help={texts.help}
          action={texts.add}
          onSave={text => save.mutateAsync({ id: null, text })}
        />
      )}
      {query.error && <ErrorBox error={query.error} retry={query.refetch} />}
      {query.isPending && <Loading label={common.loading} />}
      {comments?.length === 0 && <p className="help">{texts.none}</p>}
      <ol>
        {comments?.map((comment, index) => (
          <CommentItem
            key={comment.id}
            comment={comment}
            location={location}
            onDeleted={() => {
              deleted.current = { id: comment.id, index }
            }}
          />
        ))}
      </ol>
      <ShowMore query={query} />
    </section>
  )
}

function CommentItem({
  comment,
  location,
  onDeleted,
}: {
  comment: Comment
  location: StorageLocation
  /** Called before the comment leaves the list. */
  onDeleted: () => void
}) {
  const { author, text, mentions, createdAt, editedAt } = comment
  const { user } = useSession().viewer
  const { canWrite, isAdmin } = usePermissions()
  const [state, setState] = useState<'read' | 'edit' | 'delete'>('read')
  const save = useSaveComment(location)
  const remove = useDeleteComment(location, onDeleted)
  const isOwn = author?.id === user.id
  const name = author?.name ?? texts.formerMember
  const close = () => setState('read')
  const editButton = useRef<HTMLButtonElement>(null)
  const wasEditing = useRef(false)
  useEffect(() => {
    // The field had the focus and is gone.
    if (state === 'read' && wasEditing.current) editButton.current?.focus()
    wasEditing.current = state === 'edit'
  }, [state])
  return (
    <li className="comment" tabIndex={-1}>
      <Avatar name={name} />
      <div className="comment-body">
        <p className="comment-head">
          <bdi>{name}</bdi>
          <span className="help">
            <Time at={createdAt} as="distance" />
            {editedAt !== null && ` · ${texts.edited}`}
          </span>
        </p>
        {state === 'edit' ? (
          <CommentField
            label={texts.editComment}
            action={common.save}
            text={toTyped(text, mentions)}
            people={mentions}
            onSave={changed => save.mutateAsync({ id: comment.id, text: changed }).then(close)}
            onCancel={close}
          />
        ) : (
          <CommentText comment={comment} />
        )}
        {canWrite && state !== 'edit' && (isOwn || isAdmin) && (
          <p className="comment-actions">
            {isOwn && (
              <button ref={editButton} type="button" className="link-button" onClick={() => setState('edit')}>
                {common.edit}
              </button>
            )}
            <button type="button" className="link-button" onClick={() => setState('delete')}>
              {common.delete}
            </button>
          </p>
        )}
        {state === 'delete' && (
          <Confirm
            title={texts.deleteQuestion}
            action={common.delete}
            onConfirm={() => remove(comment.id)}
            onClose={close}
          >
            <p>{common.cannotUndo}</p>
          </Confirm>
        )}
      </div>
    </li>
  )
}

function CommentText({ comment: { text, mentions } }: { comment: Comment }) {
  const parts = partsOf(text, mentions).map((part, index) => {
    const key = `${index} ${part.kind}`
    if (part.kind === 'text') return part.text
    if (part.kind === 'mention') {
      const shown = `@${part.name ?? texts.formerMember}`
      return (
        <bdi key={key} className="mention">
          {shown}
        </bdi>
      )
    }
    return (
      <a key={key} href={part.text} target="_blank" rel="noopener noreferrer nofollow">
        {part.text}
      </a>
    )
  })
  return (
    <p className="comment-text" dir="auto">
      {parts}
    </p>
  )
}
