#pragma once

/// Renames a file in one step, unless a file of the new name exists.
///
/// Returns 0, or the system's code: EEXIST for a file of that name; EINVAL, ENOSYS or ENOTSUP if
/// the file system cannot do it.
int files_rename_new(const char *_Nonnull path, const char *_Nonnull name);
