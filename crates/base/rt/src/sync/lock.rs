//! Locks with contents. The semaphore decides who holds the lock; the `RefCell` only satisfies the compiler, and its
//! borrow cannot fail.

use std::cell::{Ref, RefCell, RefMut};
use std::ops::{Deref, DerefMut};

use super::semaphore::{Permit, Semaphore};

/// A fair mutual-exclusion lock.
pub struct Mutex<T> {
    semaphore: Semaphore,
    value: RefCell<T>,
}

impl<T> Mutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { semaphore: Semaphore::new(1), value: RefCell::new(value) }
    }

    /// Waits for the lock.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        let permit = self.semaphore.acquire(1).await;
        MutexGuard { value: self.value.borrow_mut(), _permit: permit }
    }

    /// Takes the lock if it is free and no task waits.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let permit = self.semaphore.try_acquire(1)?;
        Some(MutexGuard { value: self.value.borrow_mut(), _permit: permit })
    }

    /// The contents: exclusive access to the lock itself means that no task holds it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The contents.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// Holds a [`Mutex`]. Fields drop in order: the borrow ends before the next task gets the lock.
pub struct MutexGuard<'a, T> {
    value: RefMut<'a, T>,
    _permit: Permit<'a>,
}

/// A fair lock for many readers or one writer. A reader that comes after a waiting writer waits behind it.
pub struct RwLock<T> {
    semaphore: Semaphore,
    value: RefCell<T>,
}

impl<T> RwLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { semaphore: Semaphore::lock(), value: RefCell::new(value) }
    }

    /// Waits to read.
    pub async fn read(&self) -> ReadGuard<'_, T> {
        let permit = self.semaphore.acquire(1).await;
        ReadGuard { value: self.value.borrow(), _permit: permit }
    }

    /// Waits to write.
    pub async fn write(&self) -> WriteGuard<'_, T> {
        let permit = self.semaphore.acquire(Semaphore::ALL).await;
        WriteGuard { value: self.value.borrow_mut(), _permit: permit }
    }

    /// Takes the lock for reading if that needs no wait.
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        let permit = self.semaphore.try_acquire(1)?;
        Some(ReadGuard { value: self.value.borrow(), _permit: permit })
    }

    /// Takes the lock for writing if that needs no wait.
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        let permit = self.semaphore.try_acquire(Semaphore::ALL)?;
        Some(WriteGuard { value: self.value.borrow_mut(), _permit: permit })
    }

    /// The contents: exclusive access to the lock itself means that no task holds it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// Holds a [`RwLock`] for reading.
pub struct ReadGuard<'a, T> {
    value: Ref<'a, T>,
    _permit: Permit<'a>,
}

/// Holds a [`RwLock`] for writing.
pub struct WriteGuard<'a, T> {
    value: RefMut<'a, T>,
    _permit: Permit<'a>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;
    use crate::Rt;

    #[test]
    fn a_count_kept_across_an_await_is_right_under_the_lock() {
        let rt = Rt::virtual_time(3);
        let count = Rc::new(Mutex::new(0));
        for _ in 0..8 {
            let (rt2, count) = (rt.clone(), count.clone());
            rt.spawn(async move {
                for _ in 0..10 {
                    let mut guard = count.lock().await;
                    let seen = *guard;
                    rt2.yield_now().await;
                    *guard = seen + 1;
                }
            });
        }
        rt.run_until_idle();
        assert_eq!(*count.try_lock().unwrap(), 80);
    }

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let rt = Rt::virtual_time(0);
        let lock = RwLock::new(5);
        let first = lock.try_read().unwrap();
        let second = lock.try_read().unwrap();
        assert!(lock.try_write().is_none());
        assert_eq!(*first + *second, 10);
        drop((first, second));
        *rt.block_on(lock.write()) = 6;
        let writer = lock.try_write().unwrap();
        assert!(lock.try_read().is_none());
        drop(writer);
        assert_eq!(*rt.block_on(lock.read()), 6);
    }

    #[test]
    fn a_waiting_writer_is_not_starved_by_new_readers() {
        let rt = Rt::virtual_time(0);
        let lock = Rc::new(RwLock::new(0));
        let reader = lock.try_read().unwrap();
        let (rt2, lock2) = (rt.clone(), lock.clone());
        rt.spawn(async move {
            *lock2.write().await = 1;
            rt2.sleep(Duration::from_nanos(1)).await;
        });
        rt.run_until_idle();
        assert!(lock.try_read().is_none(), "a writer waits");
        drop(reader);
        assert_eq!(*rt.block_on(lock.read()), 1);
    }
}
