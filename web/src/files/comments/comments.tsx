/** The comments on a file or folder. Its location enters; the section reads and changes the comments itself. */
import { useState } from 'react'
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
  return (
    <section aria-label={texts.comments} className="comments">
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
        {comments?.map(comment => (
          <CommentItem key={comment.id} comment={comment} location={location} />
        ))}
      </ol>
      <ShowMore query={query} />
    </section>
  )
}

function CommentItem({ comment, location }: { comment: Comment; location: StorageLocation }) {
  const { author, text, mentions, createdAt, editedAt } = comment
  const { user } = useSession().viewer
  const { canWrite, isAdmin } = usePermissions()
  const [state, setState] = useState<'read' | 'edit' | 'delete'>('read')
  const save = useSaveComment(location)
  const remove = useDeleteComment(location)
  const isOwn = author?.id === user.id
  const name = author?.name ?? texts.formerMember
  const close = () => setState('read')
  return (
    <li className="comment">
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
              <button type="button" className="link-button" onClick={() => setState('edit')}>
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
